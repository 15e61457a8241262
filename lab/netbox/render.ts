/** How rows look in answers: links as short objects, choices with their labels, and fewer fields where that was asked for. */
import { readNetwork } from './addresses.ts'
import { KINDS, type KindName } from './kinds.ts'
import { byId, type NetBoxState, type Row, textOf } from './state.ts'

export type Shown = Record<string, unknown>

export function render(state: NetBoxState, kind: KindName, row: Row, host: string): Shown {
  const { fields, counts, path } = KINDS[kind]
  const shown: Shown = { ...head(state, kind, row, host), ...computed(state, kind, row, host) }
  for (const [name, field] of Object.entries(fields)) {
    const value = row[name] ?? null
    if (field.type === 'choice') shown[name] = value === null ? null : { value, label: labelOf(String(value)) }
    else if (field.type === 'link') shown[name] = field.to === undefined ? null : linked(state, field.to, value, host)
    else if (field.type === 'tags')
      shown[name] = (Array.isArray(value) ? value : []).flatMap((id: unknown) => linked(state, 'tag', id, host) ?? [])
    else shown[name] = value
  }
  for (const name of counts) shown[name] = 0
  shown.display_url = `http://${host}/${path}/${row.id}/`
  if (kind !== 'tag') shown.custom_fields = {}
  shown.created = row.created
  shown.last_updated = row.last_updated
  return shown
}

export function brief(state: NetBoxState, kind: KindName, row: Row, host: string): Shown {
  const whole = render(state, kind, row, host)
  const names = ['id', 'url', 'display', ...KINDS[kind].brief]
  return Object.fromEntries(names.map((name) => [name, whole[name]]))
}

/** `fields` wins over `brief` and `omit`; names that it does not know are ignored. */
export function chosen(state: NetBoxState, kind: KindName, row: Row, host: string, query: URLSearchParams): Shown {
  const whole = render(state, kind, row, host)
  const [fields, omit] = [query.get('fields'), query.get('omit')]
  if (fields !== null && fields !== '')
    return Object.fromEntries(fields.split(',').flatMap((name) => (name in whole ? [[name, whole[name]]] : [])))
  if ((query.get('brief') ?? '') !== '') return brief(state, kind, row, host)
  const gone = new Set(omit?.split(','))
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !gone.has(name)))
}

function linked(state: NetBoxState, kind: KindName, id: unknown, host: string): Shown | null {
  const row = byId(state, kind, id)
  return row === undefined ? null : brief(state, kind, row, host)
}

function head(_state: NetBoxState, kind: KindName, row: Row, host: string): Shown {
  return { id: row.id, url: `http://${host}/api/${KINDS[kind].path}/${row.id}/`, display: displayOf(kind, row) }
}

export function displayOf(kind: KindName, row: Row): string {
  if (kind === 'vlan') return `${textOf(row, 'name')} (${String(row.vid)})`
  if (kind === 'prefix') return textOf(row, 'prefix')
  if (kind === 'ip_address') return textOf(row, 'address')
  if (kind === 'ip_range') return rangeDisplay(row)
  return textOf(row, 'name')
}

/** `10.0.20.10-12/24`. */
export function rangeDisplay(row: Row): string {
  const [first = '', length = ''] = textOf(row, 'start_address').split('/')
  const [last = ''] = textOf(row, 'end_address').split('/')
  const octets = last.split('.')
  let same = 0
  while (same < 3 && first.split('.')[same] === octets[same]) same += 1
  return `${first}-${octets.slice(same).join('.')}/${length}`
}

function computed(state: NetBoxState, kind: KindName, row: Row, host: string): Shown {
  const of = { prefix: 'prefix', ip_address: 'address', ip_range: 'start_address' }[kind as string]
  if (of === undefined && kind !== 'vlan_group') return {}
  const network = of === undefined ? undefined : readNetwork(textOf(row, of))
  const family = network === undefined ? {} : { family: { value: network.family, label: `IPv${network.family}` } }
  if (kind === 'ip_range') {
    const last = readNetwork(textOf(row, 'end_address'))
    return { ...family, size: Number((last?.host ?? 0n) - (network?.host ?? 0n)) + 1 }
  }
  if (kind === 'ip_address') return family
  const scope = row.scope_type === 'dcim.site' ? linked(state, 'site', row.scope_id, host) : null
  return { ...family, scope }
}

function labelOf(value: string): string {
  return ['dhcp', 'slaac', 'vip', 'vrrp', 'hsrp', 'glbp', 'carp'].includes(value)
    ? value.toUpperCase()
    : value.slice(0, 1).toUpperCase() + value.slice(1)
}

/** Making and deleting objects. Fields that it does not know are ignored; texts of the checks are those of the server. */
import { readNetwork } from './addresses.ts'
import { type Field, KINDS, type KindName } from './kinds.ts'
import { Problem } from './problem.ts'
import { displayOf, rangeDisplay } from './render.ts'
import { byId, type Fields, insert, type NetBoxState, type Row, textOf } from './state.ts'

type Errors = Record<string, unknown>

export function create(state: NetBoxState, kind: KindName, body: unknown): Row {
  return insert(state, kind, checked(state, kind, body))
}

/** The values of a new row; throws what is wrong with the body. */
export function checked(state: NetBoxState, kind: KindName, body: unknown): Fields {
  if (body === null) throw new Problem(400, { non_field_errors: ['No data provided'] })
  if (typeof body !== 'object' || Array.isArray(body))
    throw new Problem(400, { non_field_errors: [`Invalid data. Expected a dictionary, but got ${wordOf(body)}.`] })
  const given = body as Fields
  const errors: Errors = {}
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(KINDS[kind].fields)) {
    const value = given[name]
    if (value === undefined) {
      if (field.required === true) errors[name] = ['This field is required.']
      else values[name] = field.initial ?? null
      continue
    }
    const read = fieldValue(state, kind, name, field, value)
    if ('error' in read) errors[name] = read.error
    else values[name] = read.value
  }
  for (const name of KINDS[kind].unique)
    if (
      errors[name] === undefined &&
      state.rows[kind].some((row) => row[name] === values[name] && values[name] !== null)
    )
      errors[name] = [`${KINDS[kind].noun} with this ${name} already exists.`]
  if (given.custom_fields !== undefined) checkCustomFields(state, given.custom_fields, errors)
  if (Object.keys(errors).length > 0) throw new Problem(400, errors)
  checkModel(state, kind, values)
  if (kind === 'ip_address') values.dns_name = String(values.dns_name).toLowerCase()
  return values
}

export function remove(state: NetBoxState, kind: KindName, row: Row): void {
  const dependents = dependentsOf(state, kind, row)
  if (dependents.length > 0) {
    const names = dependents.map(([of, one]) => `${displayOf(of, one)} (${one.id})`).join(', ')
    throw new Problem(409, {
      detail: `Unable to delete object. ${dependents.length} dependent objects were found: ${names}`,
    })
  }
  state.rows[kind] = state.rows[kind].filter((one) => one.id !== row.id)
  // What only points at it loses the link.
  if (kind === 'role')
    for (const one of [...state.rows.vlan, ...state.rows.prefix]) if (one.role === row.id) one.role = null
}

function dependentsOf(state: NetBoxState, kind: KindName, { id }: Row): [KindName, Row][] {
  const links: Partial<Record<KindName, [KindName, string][]>> = {
    site: [['vlan', 'site']],
    vlan: [['prefix', 'vlan']],
    vlan_group: [['vlan', 'group']],
    vrf: [['ip_address', 'vrf'], ['prefix', 'vrf']],
    tenant: [['vlan', 'tenant'], ['prefix', 'tenant'], ['ip_address', 'tenant']],
  } // biome-ignore format: a list
  return (links[kind] ?? []).flatMap(([of, field]) =>
    state.rows[of].filter((row) => row[field] === id).map((row): [KindName, Row] => [of, row]),
  )
}

type Read = { value: unknown } | { error: unknown }

function fieldValue(state: NetBoxState, kind: KindName, name: string, field: Field, value: unknown): Read {
  if (value === null && field.initial !== null) return { error: ['This field may not be null.'] }
  switch (field.type) {
    case 'choice':
      return choiceValue(field, value)
    case 'link':
      return value === null || field.to === undefined ? { value: null } : linkValue(state, field.to, value)
    case 'tags':
      return tagValues(state, value)
    case 'integer':
      return integerValue(field, value)
    case 'flag':
      return typeof value === 'boolean' ? { value } : { error: ['Must be a valid boolean.'] }
    case 'slug':
    case 'text':
      return textValue(kind, name, field, value)
    case 'plain':
      return { value }
  }
}

function choiceValue({ choices = [], initial }: Field, value: unknown): Read {
  if (value === '') return initial === null ? { value: null } : { error: ['This field may not be blank.'] }
  if (value === null) return { value: null }
  if (typeof value === 'object')
    return { error: ['Value must be passed directly (e.g. "foo": 123); do not use a dictionary or list.'] }
  return choices.includes(String(value)) ? { value } : { error: [`${String(value)} is not a valid choice.`] }
}

function linkValue(state: NetBoxState, kind: KindName, value: unknown): Read {
  if (typeof value === 'number')
    return byId(state, kind, value) === undefined
      ? { error: [`Related object not found using the provided numeric ID: ${value}`] }
      : { value }
  if (typeof value !== 'object' || value === null) {
    const text = `Related objects must be referenced by numeric ID or by dictionary of attributes. Received an unrecognized value: ${String(value)}`
    return { error: [text] }
  }
  const found = state.rows[kind].find((row) => Object.entries(value).every(([name, one]) => row[name] === one))
  if (found !== undefined) return { value: found.id }
  const attributes = Object.entries(value).map(([name, one]) => `'${name}': '${String(one)}'`)
  return { error: [`Related object not found using the provided attributes: {${attributes.join(', ')}}`] }
}

function tagValues(state: NetBoxState, value: unknown): Read {
  const read = (Array.isArray(value) ? value : []).map((one: unknown) => linkValue(state, 'tag', one))
  const bad = read.find((one) => 'error' in one)
  return bad ?? { value: read.map((one) => ('value' in one ? one.value : null)) }
}

function integerValue({ min = 0, max = 2_147_483_647 }: Field, value: unknown): Read {
  if (!/^-?\d+$/.test(String(value))) return { error: ['A valid integer is required.'] }
  if (Number(value) < min) return { error: [`Ensure this value is greater than or equal to ${min}.`] }
  return Number(value) > max
    ? { error: [`Ensure this value is less than or equal to ${max}.`] }
    : { value: Number(value) }
}

const DNS_NAME = /^([0-9A-Za-z_-]+|\*)(\.[0-9A-Za-z_-]+)*\.?$/

function textValue(kind: KindName, name: string, { type, max, required }: Field, value: unknown): Read {
  if (typeof value !== 'string') return { error: ['Not a valid string.'] }
  const text = value.trim()
  if (text.includes('\0')) return { error: ['Null characters are not allowed.'] }
  if (text === '' && required === true) return { error: ['This field may not be blank.'] }
  if (max !== undefined && text.length > max)
    return { error: [`Ensure this field has no more than ${max} characters.`] }
  if (type === 'slug' && !/^[-\w]+$/.test(text))
    return { error: ['Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.'] }
  if (name === 'dns_name' && text !== '' && !DNS_NAME.test(text))
    return {
      error: ['Only alphanumeric characters, asterisks, hyphens, periods, and underscores are allowed in DNS names'],
    }
  return networkValue(kind, name, text)
}

function networkValue(kind: KindName, name: string, text: string): Read {
  const is_prefix = kind === 'prefix' && name === 'prefix'
  const is_address = (kind === 'ip_address' && name === 'address') || (kind === 'ip_range' && name.endsWith('_address'))
  if (!is_prefix && !is_address) return { value: text }
  const network = readNetwork(text)
  if (network === undefined) return { error: [`Invalid IP ${is_prefix ? 'prefix' : 'address'} format: ${text}`] }
  return { value: `${text.split('/')[0] ?? ''}/${network.length}` }
}

function checkCustomFields(state: NetBoxState, given: unknown, errors: Errors): void {
  const names = typeof given === 'object' && given !== null ? Object.keys(given) : []
  const name = names.find((one) => !state.custom_fields.includes(one))
  if (name !== undefined)
    errors.custom_fields = { [name]: `Custom field '${name}' does not exist for this object type.` }
}

/** What the rows are checked for once every field is right. */
function checkModel(state: NetBoxState, kind: KindName, values: Record<string, unknown>): void {
  if (kind === 'prefix') checkPrefix(state, values)
  if (kind === 'ip_address') checkAddress(state, values)
  if (kind === 'ip_range') checkRange(state, values)
  if (kind === 'vlan') checkVlan(state, values)
  if (kind === 'prefix' || kind === 'vlan_group') checkScope(state, kind, values)
}

function checkScope(state: NetBoxState, kind: KindName, { scope_type, scope_id }: Fields): void {
  if (scope_type === null && scope_id !== null) throw new Problem(400, { scope_type: ['This field cannot be null.'] })
  if (scope_type !== null && scope_id === null)
    throw new Problem(
      400,
      kind === 'prefix' ? { __all__: ['Please select a site.'] } : { scope_id: ['This field cannot be null.'] },
    )
  if (scope_type !== null && !['dcim.site', 'dcim.region'].includes(String(scope_type)))
    throw new Problem(400, { scope_type: [`Invalid content type: ${String(scope_type)}`] })
  if (scope_type === 'dcim.site' && byId(state, 'site', scope_id) === undefined)
    throw new Problem(400, { scope_id: [`Related object not found using the provided value: ${String(scope_id)}.`] })
}

function checkPrefix(state: NetBoxState, { prefix, vrf }: Fields): void {
  const text = String(prefix)
  const network = readNetwork(text)
  if (network === undefined) return
  const [host = ''] = text.split('/')
  if (network.host !== network.first) {
    const meant = `${firstOf(text)}/${network.length}`
    throw new Problem(400, { prefix: [`${host}/${network.length} is not a valid prefix. Did you mean ${meant}?`] })
  }
  if (network.length === 0) throw new Problem(400, { prefix: ['Cannot create prefix with /0 mask.'] })
  const twice = state.rows.prefix.some((row) => row.prefix === prefix && row.vrf === vrf)
  if (twice && isUnique(state, vrf))
    throw new Problem(400, { prefix: [`Duplicate prefix found in ${tableOf(state, vrf)}: ${text}`] })
}

function firstOf(text: string): string {
  const [host = '', length = ''] = text.split('/')
  const size = 2 ** (32 - Number(length))
  const number = host.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const first = Math.floor(number / size) * size
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')
}

function isUnique(state: NetBoxState, vrf: unknown): boolean {
  return vrf === null || byId(state, 'vrf', vrf)?.enforce_unique === true
}

function tableOf(state: NetBoxState, vrf: unknown): string {
  const row = byId(state, 'vrf', vrf)
  return row === undefined ? 'global table' : `VRF ${textOf(row, 'name')} (${textOf(row, 'rd')})`
}

function checkAddress(state: NetBoxState, { address, vrf, status, role }: Fields): void {
  const own = readNetwork(String(address))
  if (own === undefined) return
  const inside = state.rows.ip_range.find((row) => {
    const [first, last] = [readNetwork(textOf(row, 'start_address')), readNetwork(textOf(row, 'end_address'))]
    if (row.mark_populated !== true || row.vrf !== vrf || first === undefined || last === undefined) return false
    return first.family === own.family && first.host <= own.host && own.host <= last.host
  })
  if (inside !== undefined)
    throw new Problem(400, {
      address: [`Cannot create IP address ${String(address)} inside range ${rangeDisplay(inside)}.`],
    })
  const twice = state.rows.ip_address.filter((row) => {
    const other = readNetwork(textOf(row, 'address'))
    return row.vrf === vrf && other?.host === own.host && other.family === own.family
  })
  const shared = role !== null && twice.every((row) => row.role !== null)
  if (twice[0] !== undefined && !shared && isUnique(state, vrf))
    throw new Problem(400, {
      address: [`Duplicate IP address found in ${tableOf(state, vrf)}: ${textOf(twice[0], 'address')}`],
    })
  if (status === 'slaac' && own.family === 4)
    throw new Problem(400, { status: ['Only IPv6 addresses can be assigned SLAAC status'] })
}

function checkRange(state: NetBoxState, { start_address, end_address, vrf }: Fields): void {
  const [first, last] = [readNetwork(String(start_address)), readNetwork(String(end_address))]
  if (first === undefined || last === undefined) return
  if (first.length !== last.length)
    throw new Problem(400, { end_address: ['Starting and ending IP address masks must match'] })
  if (last.host < first.host) {
    const text = `Ending address must be greater than or equal to the starting address (${String(start_address)})`
    throw new Problem(400, { end_address: [text] })
  }
  const other = state.rows.ip_range.find((row) => {
    const [from, to] = [readNetwork(textOf(row, 'start_address')), readNetwork(textOf(row, 'end_address'))]
    return row.vrf === vrf && from !== undefined && to !== undefined && from.host <= last.host && first.host <= to.host
  })
  if (other !== undefined)
    throw new Problem(400, {
      __all__: [
        `Defined addresses overlap with range ${rangeDisplay(other)} in VRF ${vrf === null ? 'None' : String(vrf)}`,
      ],
    })
}

/** Only within a group VIDs and names are unique; in a site they are not. */
function checkVlan(state: NetBoxState, { group, vid, name, site }: Fields): void {
  const row = byId(state, 'vlan_group', group)
  if (row === undefined) return
  const ranges = row.vid_ranges as [number, number][] // plain values of a seed or of a request
  if (!ranges.some(([from, to]) => from <= Number(vid) && Number(vid) <= to)) {
    const words = ranges.map(([from, to]) => `${from}-${to}`).join(', ')
    throw new Problem(400, { vid: [`VID must be in ranges ${words} for VLANs in group ${textOf(row, 'name')}`] })
  }
  if (site !== null && row.scope_type === 'dcim.site' && row.scope_id !== site)
    throw new Problem(400, { __all__: [`VLAN is assigned to group ${textOf(row, 'name')} (scope: another site).`] })
  const others = state.rows.vlan.filter((one) => one.group === group)
  if (others.some((one) => one.vid === vid))
    throw new Problem(400, { __all__: ['VLAN with this Group and VLAN ID already exists.'] })
  if (others.some((one) => one.name === name))
    throw new Problem(400, { __all__: ['VLAN with this Group and Name already exists.'] })
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  return { string: 'str', number: 'int', boolean: 'bool' }[typeof value as string] ?? 'NoneType'
}

/** What stood on the recorded NetBox besides what its recorded requests made, and where the simulator answers otherwise. */
import { KINDS, type KindName } from '../../lab/netbox/kinds.ts'
import type { Token } from '../../lab/netbox/request-handler.ts'
import { emptyState, type Fields, insert, type NetBoxState } from '../../lab/netbox/state.ts'

const ROWS: readonly [KindName, number, Fields][] = [
  ['site', 3, { name: 'Site Three', slug: 'site-three' }],
  ['role', 2, { name: 'Storage', slug: 'storage' }],
  ['role', 3, { name: 'Guest', slug: 'guest' }],
  ['role', 4, { name: 'Public', slug: 'public' }],
  ['vlan_group', 3, { name: 'G-sg', slug: 'g-sg', scope_type: 'dcim.sitegroup', scope_id: 1 }],
  ['vlan_group', 5, { name: 'conc', slug: 'conc' }],
  ['vlan', 2, { vid: 20, name: 'stor-s1', site: 1, role: 2 }],
  ['vlan', 3, { vid: 30, name: 'guest-s1-a', site: 1, role: 3 }],
  ['vlan', 4, { vid: 31, name: 'guest-s1-b', site: 1, role: 3 }],
  ['vlan', 5, { vid: 32, name: 'guest-s1-c-reserved', site: 1, role: 3, status: 'reserved' }],
  ['vlan', 6, { vid: 10, name: 'mgmt-s2', site: 2, role: 1 }],
  ['vlan', 7, { vid: 99, name: 'public-global', role: 4 }],
  ['vlan', 8, { vid: 200, name: 'public-region', group: 2, role: 4 }],
  ['vlan', 9, { vid: 201, name: 'public-sitegroup', group: 3, role: 4 }],
  ['vlan', 10, { vid: 202, name: 'public-globalgroup', group: 4, role: 4 }],
  ['vlan', 11, { vid: 300, name: 'public-sitegroupscope', group: 1, role: 4 }],
  ['vlan', 12, { vid: 40, name: 'norole-s1', site: 1 }],
  ...Array.from({ length: 60 }, (_, index): [KindName, number, Fields] => [
    'vlan',
    15 + index,
    { vid: 1001 + index, name: `v${1001 + index}` },
  ]),
  ['prefix', 7, { prefix: '10.0.7.8/31' }],
  ['prefix', 8, { prefix: '10.0.7.10/32' }],
  ['prefix', 9, { prefix: '10.0.7.16/30', is_pool: true }],
  ['prefix', 12, { prefix: '10.0.20.0/24' }],
  ['prefix', 14, { prefix: '10.0.22.0/29', mark_utilized: true }],
  ['prefix', 16, { prefix: '10.0.24.0/29', status: 'deprecated' }],
  ['prefix', 20, { prefix: '172.16.0.0/24' }],
  ['prefix', 64, { prefix: '10.80.0.0/29' }],
  ['prefix', 65, { prefix: '10.81.0.0/29', status: 'container' }],
  ['prefix', 66, { prefix: '10.82.0.0/29' }],
  ['prefix', 67, { prefix: '10.83.0.0/28' }],
  ['prefix', 70, { prefix: '10.84.0.0/29' }],
  ['prefix', 71, { prefix: '10.84.1.0/30', is_pool: true }],
  ['prefix', 72, { prefix: '2001:db8:5::/126' }],
  ['prefix', 73, { prefix: '2001:db8:5::10/127' }],
  ['prefix', 74, { prefix: '2001:db8:5::20/126', is_pool: true }],
  ['ip_address', 22, { address: '10.0.21.11/24', dns_name: 'node-1.lab.example' }],
  ['ip_address', 23, { address: '10.0.21.12/24' }],
  ['ip_address', 1228, { address: '10.80.0.2/29', description: 'job-1' }],
  ['ip_address', 1229, { address: '10.80.0.3/29', description: 'job-2' }],
  ['ip_address', 1231, { address: '10.81.0.1/29', vrf: 1 }],
]

export function recordedState(): NetBoxState {
  const state = emptyState()
  state.custom_fields.push('gateway', 'job_no')
  for (const [kind, id, fields] of ROWS) {
    state.next[kind] = id
    const initial = Object.entries(KINDS[kind].fields).map(([name, field]) => [name, field.initial ?? null])
    insert(state, kind, { ...Object.fromEntries(initial), ...fields })
  }
  for (const kind of Object.keys(KINDS)) state.next[kind as KindName] = 100_000
  return state
}

const v1 = (letter: string): string => letter.repeat(40)
const v2 = (letter: string): string => `nbt_${letter.repeat(12)}.${letter.repeat(40)}`
const refused = (letter: string, text: string) => ({ header: `Bearer ${v2(letter)}`, token: { value: v2(letter), refused: text } }) // biome-ignore format: one token
const v1_token: Token = { value: v1('a') }
const read_only: Token = { value: v2('r'), read_only: true }
const without_rights: Token = { value: v2('n'), without_rights: true }

/** Whom a recorded request came from, where that is no administrator. */
export const CALLERS: Readonly<Record<string, { header: string; token?: Token }>> = {
  'auth/auth-missing': { header: '' },
  'auth/auth-missing-post': { header: '' },
  'auth/auth-missing-status': { header: '' },
  'auth/auth-v1-token': { header: `Token ${v1('a')}`, token: v1_token },
  'auth/auth-v1-with-bearer-keyword': { header: `Bearer ${v1('a')}` },
  'auth/auth-v2-wrong-secret': { header: `Bearer ${v2('w')}` },
  'auth/auth-v2-unknown-key': { header: `Bearer ${v2('u')}` },
  'auth/auth-v2-no-dot': { header: 'Bearer nbt_withoutadot' },
  'auth/auth-v1-unknown': { header: `Token ${v1('u')}` },
  'auth/auth-extra-words': { header: `Token ${v1('a')} more` },
  'auth/auth-keyword-only': { header: 'Token' },
  'auth/auth-basic': { header: 'Basic YTpi' },
  'auth/auth-token-expired': refused('e', 'Token expired'),
  'auth/auth-token-disabled': refused('d', 'Token disabled'),
  'auth/auth-token-ipdenied': refused('i', 'Source IP 127.0.0.1 is not permitted to authenticate using this token.'),
  'auth/auth-token-inactive': refused('x', 'User inactive'),
  'auth/auth-readonly-get': { header: `Bearer ${v2('r')}`, token: read_only },
  'auth/auth-readonly-post': { header: `Bearer ${v2('r')}` },
  'auth/auth-readonly-v1-post': { header: `Bearer ${v2('r')}` },
  'auth/auth-noperm-get-list': { header: `Bearer ${v2('n')}`, token: without_rights },
  'auth/auth-noperm-status': { header: `Bearer ${v2('n')}` },
  'auth/auth-noperm-post': { header: `Bearer ${v2('n')}` },
  'available-ips/post-readonly-token': { header: `Bearer ${v2('r')}` },
  'available-ips/post-noperm': { header: `Bearer ${v2('n')}` },
}

const SEEDED = 'the recorded server had no role yet'
const REGIONS = 'regions are not simulated'

export const OTHER_ANSWERS: Readonly<Record<string, string>> = {
  'auth/auth-v2-with-token-keyword': SEEDED,
  'auth/auth-v1-with-bearer-keyword': SEEDED,
  'auth/auth-lowercase-keyword': SEEDED,
  'auth/auth-readonly-get': SEEDED,
  'version/accept-html': 'the browsable API is not simulated',
  'sites/site-create-bad-region-id': REGIONS,
  'sites/site-create-bad-region-obj': REGIONS,
  'sites/site-region': REGIONS,
  'prefix-filter/cf-empty-result': 'filters by custom fields are not simulated',
}

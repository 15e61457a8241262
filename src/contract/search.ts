// Finding things of every kind by a word.
import { type Static, Type } from 'typebox'
import { Closed, Nullable, OneOf } from './common.ts'
import { defineArea } from './route.ts'

export const SEARCH_KINDS = [
  'vm', 'volume', 'network', 'public_ip', 'node', 'tenant', 'user', 'dhcp_scope', 'dhcp_reservation', 'dns_zone', 'dns_record',
  'kvm', 'camera',
] as const // biome-ignore format: a list of words
export type SearchKind = (typeof SEARCH_KINDS)[number]

export const SEARCH_RANKS = ['exact', 'prefix', 'inside'] as const

const Kind = OneOf([...SEARCH_KINDS])

export const SearchResult = Type.Object(
  {
    kind: Kind,
    id: Type.String({ description: 'Of a DNS record its record_id, of a node its BMC address, of a reservation its MAC.' }),
    name: Type.String(),
    tenant_id: Nullable(Type.String({ description: 'Whose it is; null: of no tenant.' })),
    tenant_name: Nullable(Type.String({ description: 'Null: of no tenant, or of one that is not known here yet.' })),
    matched: Type.String({ description: 'The name, address, MAC or id that has the words in it.' }),
    rank: OneOf([...SEARCH_RANKS], { description: 'The words are all of it, its beginning, or inside it.' }),
    operation: Type.String({ description: 'The operation that shows it.' }),
    method: OneOf(['GET', 'POST']),
    href: Type.String({ description: 'Path and query of that operation.' }),
    body: Nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'What to send there; null without a body.' })),
  },
  { title: 'SearchResult' },
) // biome-ignore format: a table
export type SearchResult = Static<typeof SearchResult>

const Unavailable = Type.Object(
  { kind: Kind, reason: Type.String({ description: 'Why things of this kind could not be searched.' }) },
  { title: 'SearchUnavailable' },
)

const example: SearchResult = {
  kind: 'vm',
  id: '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001',
  name: 'web-01',
  tenant_id: '7c1d4b1e-62f0-4c0f-9a3e-2f5f0c9d1a01',
  tenant_name: 'acme',
  matched: '10.1.0.31',
  rank: 'exact',
  operation: 'vmGet',
  method: 'POST',
  href: '/compute/vms/byID',
  body: { virtual_machine_id: '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001' },
}

export const search = defineArea({
  name: 'search',
  description: 'Things of every kind by name, address, MAC or id.',
  routes: {
    searchRun: {
      method: 'GET',
      path: '/search',
      summary: 'Search things by name, address, MAC or id',
      description:
        'Upper and lower case are the same. Exact matches come first, then those that begin with the words, then those that have them inside. A kind is searched only when the caller may call the operation that shows it; tenant-scoped callers find what belongs to their tenant. New names and addresses of virtual machines are found after the next reading of the platform, within two minutes. Of volumes, networks and public IPs the platform gives the first that it finds.',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      query: Closed({
        q: Type.String({ minLength: 2, maxLength: 128, description: 'Part of a name, address, MAC or id.' }),
        kind: Type.Optional(OneOf([...SEARCH_KINDS], { description: 'Things of this kind alone.' })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Results at most; 20 by default.' })),
      }),
      ok: {
        200: Type.Object(
          {
            results: Type.Array(SearchResult),
            more: Type.Boolean({ description: 'There is more than these results; narrow the words or raise the limit.' }),
            unavailable: Type.Array(Unavailable, { description: 'Kinds that could not be searched now.' }),
          },
          { title: 'SearchAnswer' },
        ),
      },
      errors: [400, 500],
      example: { query: { q: '10.1.0.31' }, answer: { results: [example], more: false, unavailable: [] } },
    },
  },
}) // biome-ignore format: wide descriptions

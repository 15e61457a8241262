// The address store on our own tables, for where the configuration names no other.
import pLimit from 'p-limit'
import type { IpamLimits, IpamStore, Made } from '#src/drivers/ddi/ipam-store.ts'
import type { Database } from '#src/store/database.ts'
import * as tables from '#src/store/ipam.ts'

export const BUILT_IN_LIMITS: IpamLimits = {
  default_site: true,
  containers: false,
  unique_names: false,
  prefix_details: 'with the prefix',
}

export function builtInStore(database: Database): IpamStore {
  const { db } = database
  // Those of this process wait here, so that they do not take every connection of the database.
  const turn = pLimit(1)
  const prefix = async (id: number) => (await tables.listPrefixes(db, { id }, { page: 1, page_size: 1 })).rows[0]
  return {
    kind: 'built-in',
    limits: BUILT_IN_LIMITS,
    check: async () => {},
    sites: (page) => tables.listSites(db, page),
    roles: (page) => tables.listRoles(db, page),
    vlans: (of, page) => tables.listVlans(db, of, page),
    prefixes: (of, page) => tables.listPrefixes(db, of, page),
    prefix,
    addresses: (of, page) => tables.listAddresses(db, of, page),
    addressesOfOwners: (owner_ids) => tables.addressesOfOwners(db, owner_ids),
    createSite: async (site) => (await tables.insertSite(database, site)) ?? 'exists',
    createRole: async (role) => (await tables.insertRole(db, role)) ?? 'exists',
    createVlan: (vlan) => naming(async () => (await tables.insertVlan(db, vlan)) ?? 'exists'),
    createPrefix: (wanted) =>
      naming(async () => {
        const id = await tables.insertPrefix(database, wanted)
        return id === undefined ? 'exists' : ((await prefix(id)) ?? 'exists')
      }),
    remove: (kind, id) => tables.deleteRow(db, `ipam_${kind}`, id),
    allocate: (prefix_id, wish) => turn(() => tables.allocate(database, prefix_id, wish)),
    release: (id) => tables.releaseAddress(db, id),
    releaseKey: (key) => tables.releaseKey(db, key),
  }
}

const FOREIGN_KEY = '23503'

async function naming<T>(insert: () => Promise<Made<T>>): Promise<Made<T>> {
  try {
    return await insert()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === FOREIGN_KEY)) throw error
    const constraint = 'constraint' in error ? String(error.constraint) : ''
    const missing = (['vlan_id', 'role_id'] as const).find((field) => constraint.includes(field)) ?? 'site_id'
    return { missing }
  }
}

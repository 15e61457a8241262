// Addresses and names as other areas use them: the store of IP addresses, and names of addresses where a name server is configured.
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { AddressDns } from './ddi/address-dns.ts'
import { createAddressNames } from './ddi/dns/address-names.ts'
import { createZoneContents } from './ddi/dns/zone-contents.ts'
import { builtInStore } from './ddi/ipam/built-in.ts'
import { notingStore } from './ddi/ipam/lost-addresses.ts'
import { createServerLock } from './ddi/server-lock.ts'
import type { Parts } from './module.ts'

export interface AddressPorts {
  store: IpamStore
  /** Undefined: the configuration names no name server. */
  names: AddressDns | undefined
}

export function createAddressPorts(parts: Parts): AddressPorts {
  const { database, dns_server: server, ipam_store } = parts
  const store = ipam_store === undefined ? builtInStore(database) : notingStore(ipam_store, database)
  if (server === undefined) return { store, names: undefined }
  const lock = createServerLock(database, 'DNS')
  return { store, names: createAddressNames({ ...parts, server, lock, contents: createZoneContents(server) }) }
}

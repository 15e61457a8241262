// What the operations of the area `public-ips` are made of.
import type { PlatformDeps } from '../platform-rows.ts'
import type { AddressDns } from './address-dns.ts'

export interface PublicIpDeps extends PlatformDeps {
  dns: AddressDns | undefined
}

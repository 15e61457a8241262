// The port through which names of public addresses are kept: what public IPs need of DNS, whichever server stands behind.
import { ApiError } from '#src/kernel/errors.ts'

export interface AddressName {
  /** Without a trailing dot. */
  fqdn: string
  /** Names the record for update and delete. */
  record_id: string
}

export interface PublishName {
  ip_address: string
  /** A label or a full name. */
  hostname: string
  /** Zone of the record; undefined: the implementation finds it from the name. */
  dns_zone: string | undefined
  ttl: number | undefined
  create_ptr: boolean
  /** Replaces this record. */
  record_id?: string | undefined
}

export interface WithdrawName {
  ip_address: string
  dns_zone: string | undefined
  record_id?: string | undefined
  /** Only this name of the address; needs the zone. */
  fqdn?: string | undefined
}

export interface AddressDns {
  /** Makes the record, or replaces the one named; the same again changes nothing. */
  publish(name: PublishName): Promise<AddressName & { ptr_created: boolean }>
  /** Removes the record named, or every name of the address. Answers what was removed; nothing to remove is no error. */
  withdraw(which: WithdrawName): Promise<readonly AddressName[]>
  /** The first name of each address that has one. */
  lookup(addresses: readonly string[], dns_zone: string | undefined): Promise<ReadonlyMap<string, AddressName>>
}

export function dnsNotConfigured(): ApiError {
  return new ApiError('DNS_NOT_CONFIGURED', NO_DNS)
}

export const NO_DNS = 'The DNS subsystem is not configured, so names of public addresses are neither known nor changed.'

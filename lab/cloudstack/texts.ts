/** How the platform writes its things into messages: as JSON, with internal numbers beside the ids. */
import type { Address, Network } from './network-records.ts'
import type { Account, Domain, Vm } from './records.ts'

/** Internal numbers exist only where a message shows them; they follow from the id. */
export function numberOf(id: string): number {
  return Number.parseInt(id.slice(0, 4), 16)
}

export function vmText(vm: Vm): string {
  const { state, id } = vm
  return `VM instance ${JSON.stringify({ id: vm.number, instanceName: `i-2-${vm.number}-VM`, state, type: 'User', uuid: id })}`
}

export function accountText(account: Account): string {
  const one = { accountName: account.name, id: numberOf(account.id), uuid: account.id }
  return `Account [${JSON.stringify(one)}]`
}

export function domainText(domain: Domain | null): string {
  return `Domain ${JSON.stringify({ id: numberOf(domain?.id ?? '0'), name: domain?.name, path: domain?.path, uuid: domain?.id })}`
}

export function networkText(network: Network): string {
  return `Network ${JSON.stringify({ id: numberOf(network.id), name: network.name, uuid: network.id, networkofferingid: 10 })}`
}

export function addressText(address: Address): string {
  const { ipaddress, id } = address
  return `IPAddress ${JSON.stringify({ address: ipaddress, dataCenterId: 1, id: numberOf(id), uuid: id })}`
}

/** A changing command asked for what is removed names the internal number, not the id. */
export function removedText(id: string, type: string): string {
  return `Unable to find UUID for id [${numberOf(id)}] of type [${type}]`
}

/** Which role may call which command. */
import { ApiFault, denied } from './api-fault.ts'
import type { Caller } from './call.ts'
import type { CommandSpec, Params } from './params.ts'
import type { SimulatorState } from './state.ts'

const ROLE_OF_TYPE: Readonly<Record<number, string>> = { 0: 'User', 1: 'Admin', 2: 'DomainAdmin', 4: 'ResourceAdmin' }

/** Commands that upstream has twice, once for the root admin and once for everybody; the catalogue shows the former. */
const ALSO_FOR_USERS = new Set(
  `addNicToVirtualMachine associateIpAddress attachIso attachVolume createNetwork createVolume deployVirtualMachine destroyVirtualMachine destroyVolume detachIso detachVolume getVirtualMachineUserData listAccounts
  listDomains listIsos listNetworks listPublicIpAddresses listRouters listSnapshots listTemplates listUsers listVPCs listVirtualMachines listVirtualMachinesMetrics listVolumes listZones rebootVirtualMachine recoverVirtualMachine
  registerIso registerTemplate registerUserKeys removeNicFromVirtualMachine resetPasswordForVirtualMachine resetUserDataForVirtualMachine resizeVolume restoreVirtualMachine revertToVMSnapshot scaleVirtualMachine
  startVirtualMachine stopVirtualMachine updateDefaultNicForVirtualMachine updateNetwork updateVMAffinityGroup updateVirtualMachine updateVolume`.split(
    /\s+/,
  ),
)

export function mayCall(spec: CommandSpec, caller: Caller): boolean {
  const role = ROLE_OF_TYPE[caller.account.accounttype] ?? 'User'
  if (role === 'Admin' || spec.authorized.length === 0 || spec.authorized.includes(role)) return true
  return ALSO_FOR_USERS.has(spec.name)
}

export function requireRight(spec: CommandSpec, caller: Caller): void {
  if (mayCall(spec, caller)) return
  const text = `The API [${spec.name}] does not exist or is not available for the account for user id [${caller.user.id}].`
  throw new ApiFault(432, text)
}

/** A plain user changes what is the account's own alone; lists leave the rest out instead. */
export function requireOwner(spec: CommandSpec, params: Params, { tables }: SimulatorState, caller: Caller): void {
  if (caller.account.accounttype !== 0 || spec.name.startsWith('list')) return
  for (const name of ['id', 'virtualmachineid']) {
    const id = params.text(name)
    const owner = (tables.vms.get(id) ?? tables.volumes.get(id))?.accountid ?? caller.account.id
    if (owner !== caller.account.id) throw denied('Caller does not have permission to operate with provided resource.')
  }
}

/** Which role may call which command. */
import { ApiFault } from './api-fault.ts'
import type { Caller } from './call.ts'
import type { CommandSpec } from './params.ts'

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

export function requireRight(spec: CommandSpec, caller: Caller): void {
  const role = ROLE_OF_TYPE[caller.account.accounttype] ?? 'User'
  if (role === 'Admin' || spec.authorized.length === 0 || spec.authorized.includes(role)) return
  if (ALSO_FOR_USERS.has(spec.name)) return
  const text = `The given command '${spec.name}' either does not exist, is not available for user, or not available from ip address '/127.0.0.1'.`
  throw new ApiFault(401, text, null)
}

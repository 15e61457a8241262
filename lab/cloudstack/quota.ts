/** Resource limits of domains, accounts and projects, and what is used of them. */
import { overQuota } from './api-fault.ts'
import type { Owned } from './row.ts'
import type { SimulatorState } from './state.ts'

export const RESOURCES = [
  'user_vm',
  'public_ip',
  'volume',
  'snapshot',
  'template',
  'project',
  'network',
  'vpc',
  'cpu',
  'memory',
  'primary_storage',
  'secondary_storage',
  'backup',
  'backup_storage',
  'bucket',
  'object_storage',
  'gpu',
] as const

/** The limits new domains and accounts start from (settings max.domain.* and max.account.*). */
const DEFAULTS: Readonly<Record<'domain' | 'account', readonly number[]>> = {
  domain: [40, 40, 40, 40, 40, -1, 40, 40, 80, 81_920, 400, 800, 40, 800, 40, 800, 40],
  account: [20, 20, 20, 20, 20, -1, 20, 20, 40, 40_960, 200, 400, 20, 400, 20, 400, 20],
}

const GIB = 1024 ** 3

export function limitOf(
  state: SimulatorState,
  owner: 'domain' | 'account' | 'project',
  ownerid: string,
  resourcetype: number,
): number {
  const row = state.tables.limits.get(`${ownerid}/${resourcetype}`)
  if (row !== null) return row.max
  if (owner === 'project') return DEFAULTS.account[resourcetype] ?? -1
  // The root domain, its system account and its admins are without limits.
  if (owner === 'domain' && state.tables.domains.get(ownerid)?.level === 0) return -1
  if (owner === 'account' && state.tables.accounts.get(ownerid)?.accounttype === 1) return -1
  return DEFAULTS[owner][resourcetype] ?? -1
}

export interface Use {
  vms: number
  running: number
  stopped: number
  by: number[]
}

/** What an account uses, by resource type; project resources count for the project. */
export function useOf(state: SimulatorState, accountid: string, projectid: string | null = null): Use {
  const { tables } = state
  const use: Use = { vms: 0, running: 0, stopped: 0, by: RESOURCES.map(() => 0) }
  const add = (type: number, amount: number): void => {
    use.by[type] = (use.by[type] ?? 0) + amount
  }
  const mine = (owned: Owned): boolean => owned.accountid === accountid && owned.projectid === projectid
  for (const vm of tables.vms.by('account', accountid)) {
    if (!mine(vm) || vm.state === 'Destroyed' || vm.state === 'Expunging' || vm.state === 'Error') continue
    add(0, 1)
    add(8, vm.cpunumber)
    add(9, vm.memory)
    add(16, tables.gpudevices.by('vm', vm.id).length)
    if (vm.state === 'Running') use.running += 1
    else use.stopped += 1
  }
  use.vms = use.by[0] ?? 0
  for (const volume of tables.volumes.by('account', accountid)) {
    if (!mine(volume)) continue
    add(2, 1)
    add(10, Math.ceil(volume.size_bytes / GIB))
  }
  add(1, tables.addresses.filter((address) => address.state !== 'Free' && mine(address)).length)
  add(6, tables.networks.filter(mine).length)
  add(3, tables.snapshots.filter(mine).length)
  add(4, tables.templates.filter(mine).length)
  add(12, tables.backups.filter(mine).length)
  return use
}

export function domainUse(state: SimulatorState, domainid: string): Use {
  const path = state.tables.domains.get(domainid)?.path ?? ''
  const total: Use = { vms: 0, running: 0, stopped: 0, by: RESOURCES.map(() => 0) }
  for (const account of state.tables.accounts.values()) {
    const other = state.tables.domains.get(account.domainid)?.path ?? ''
    if (other !== path && !other.startsWith(`${path}/`)) continue
    const use = useOf(state, account.id)
    total.vms += use.vms
    total.running += use.running
    total.stopped += use.stopped
    use.by.forEach((amount, type) => {
      total.by[type] = (total.by[type] ?? 0) + amount
    })
  }
  return total
}

/** Throws 535 when adding these amounts would pass a limit of the account or of a domain above it. */
export function requireQuota(
  state: SimulatorState,
  owned: Owned,
  wanted: readonly (readonly [type: number, amount: number])[],
): void {
  const account = state.tables.accounts.get(owned.accountid)
  if (account === null || account.accounttype === 1) return
  const use = useOf(state, account.id, owned.projectid)
  const holder =
    owned.projectid === null
      ? ({ kind: 'account', id: account.id } as const)
      : ({ kind: 'project', id: owned.projectid } as const)
  for (const [type, amount] of wanted) {
    const max = limitOf(state, holder.kind, holder.id, type)
    const now = use.by[type] ?? 0
    if (max !== -1 && now + amount > max) {
      throw overQuota(
        `Maximum amount of resources of Type = '${RESOURCES[type]}', tag = 'null' for Account Name = ${account.name} in Domain Id = ${account.domainid} is exceeded: Account Resource Limit = ${max}, Current Account Resource Amount = ${now}, Requested Resource Amount = ${amount}.`,
      )
    }
  }
  for (
    let domain = state.tables.domains.get(account.domainid);
    domain !== null && domain.level > 0;
    domain = state.tables.domains.get(domain.parentid)
  ) {
    const all = domainUse(state, domain.id)
    for (const [type, amount] of wanted) {
      const max = limitOf(state, 'domain', domain.id, type)
      const now = all.by[type] ?? 0
      if (max !== -1 && now + amount > max)
        throw overQuota(
          `Maximum domain resource limits of Type '${RESOURCES[type]}' for Domain Id = ${domain.id} is exceeded: Domain Resource Limit = ${max}, Current Domain Resource Amount = ${now}, Requested Resource Amount = ${amount}.`,
        )
    }
  }
}

// Steps at the compute platform: the host is emptied, put into maintenance and removed. Nothing that was not named is destroyed.
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { changeOnce } from '#src/jobs/submit-once.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { type PlatformReading, type PlatformVm, suitableHosts } from '../decommission/platform-reading.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { hasHost, type LeaveRun, type LeaveStep, platformOf, whenHost } from './run.ts'

const HOURS_MS = 3600_000
const POLL_MS = 3000
const MOVES_MOST = 3
const SEEN_TWICE_MS = 10_000

export const cordon: LeaveStep = {
  name: 'cordon',
  title: TITLES.cordon,
  applies: hasHost,
  holds: whenHost(({ host }) => host.resource_state !== 'Enabled'),
  run: (run) => setAllocation(run, 'Disable'),
  undo: (run) => setAllocation(run, 'Enable'),
}

export const migrate: LeaveStep = {
  name: 'migrate',
  title: TITLES.migrate,
  weight: 10,
  applies: hasHost,
  holds: async (run) => movable(run, await platformOf(run)).length === 0,
  run: moveAll,
  timeout_ms: 24 * HOURS_MS,
}

export const destroyVms: LeaveStep = {
  name: 'destroy-vms',
  title: TITLES['destroy-vms'],
  weight: 2,
  applies: async (run) => {
    const host = await hasHost(run)
    if (host !== true) return host
    const { vms } = await platformOf(run)
    return userVms(vms).length === 0 ? 'No machine is left on the host.' : true
  },
  holds: async (run) => userVms((await platformOf(run)).vms).length === 0,
  run: destroyNamed,
  retries: 0,
  timeout_ms: HOURS_MS,
}

export const systemVms: LeaveStep = {
  name: 'system-vms',
  title: TITLES['system-vms'],
  weight: 2,
  applies: hasHost,
  holds: async (run) => (ownVms((await platformOf(run)).vms).length === 0 ? true : 'unknown'),
  run: moveSystem,
  outstanding: async (run) =>
    ownVms((await platformOf(run)).vms).map(
      ({ name }) => `Check that ${name} of the compute platform runs on another host.`,
    ),
  timeout_ms: HOURS_MS,
}

export const maintenance: LeaveStep = {
  name: 'maintenance',
  title: TITLES.maintenance,
  weight: 3,
  applies: hasHost,
  holds: whenHost(({ host }) => host.resource_state === 'Maintenance'),
  run: enterMaintenance,
  undo: leaveMaintenance,
  point_of_no_return: true,
  timeout_ms: HOURS_MS,
}

export const hostDelete: LeaveStep = {
  name: 'host-delete',
  title: TITLES['host-delete'],
  applies: hasHost,
  holds: async (run) => (await platformOf(run)).host === null,
  run: deleteHost,
}

const userVms = (vms: readonly PlatformVm[]): PlatformVm[] => vms.filter(({ kind }) => kind === 'user')
const ownVms = (vms: readonly PlatformVm[]): PlatformVm[] => vms.filter(({ kind }) => kind !== 'user')

/** Those that the caller did not give up. */
function movable({ input }: LeaveRun, { vms }: PlatformReading): PlatformVm[] {
  const given_up = new Set(input.destroy.map(({ id }) => id))
  return userVms(vms).filter(({ id }) => !given_up.has(id))
}

async function hostNow(run: LeaveRun) {
  const platform = await platformOf(run)
  if (platform.host === null)
    throw new ApiError('HOST_NOT_FOUND', `The compute platform lists no host of node ${run.input.bmc_ip} any more; repeat the preflight.`) // biome-ignore format: one sentence
  return { ...platform, host: platform.host }
}

async function setAllocation(run: LeaveRun, allocationstate: 'Enable' | 'Disable'): Promise<void> {
  const { host } = await platformOf(run)
  const before = allocationstate === 'Enable' ? 'Disabled' : 'Enabled'
  if (host === null || host.resource_state !== before) return
  await run.deps.cloudstack.call('updateHost', { id: host.id, allocationstate }, { signal: run.signal })
  await run.note('INFO', `Host ${host.name}: allocation ${allocationstate.toLowerCase()}d.`, { host_id: host.id })
}

/** One after the other; each with up to three targets. What cannot be moved stays untouched. */
async function moveAll(run: LeaveRun): Promise<void> {
  const tried = new Map<string, string[]>()
  for (;;) {
    const platform = await hostNow(run)
    const left = movable(run, platform)
    if (left.length === 0) return
    run.progress(0, `Moving machines: ${left.length} left`)
    const open = left.filter(({ id }) => (tried.get(id)?.length ?? 0) < MOVES_MOST)
    const [next] = open
    if (next === undefined) throw cannotMove(left)
    if (next.stays !== null) throw cannotMove(left.filter(({ stays }) => stays !== null))
    if (next.state === 'Running') await moveOne(run, platform, next, tried)
    else await run.deps.cloudstack.pause(POLL_MS, run.signal)
  }
}

function cannotMove(vms: readonly PlatformVm[]): ApiError {
  const named = vms.map(({ name, stays }) => (stays === null ? name : `${name} (${stays})`)).join(', ')
  return new ApiError(
    'VM_NOT_ACKNOWLEDGED',
    `These machines cannot be moved and were not named to be destroyed: ${named}. Move or stop them, or repeat the preflight and name them.`,
  )
}

async function moveOne(
  run: LeaveRun,
  platform: PlatformReading,
  vm: PlatformVm,
  tried: Map<string, string[]>,
): Promise<void> {
  const { cloudstack } = run.deps
  const before = tried.get(vm.id) ?? []
  const suitable = await suitableHosts(cloudstack, vm.id, { signal: run.signal })
  const target = platform.targets
    .filter(({ id }) => suitable.has(id) && !before.includes(id))
    .toSorted((a, b) => b.free_mem_bytes - a.free_mem_bytes)[0]
  tried.set(vm.id, [...before, target?.id ?? 'none'])
  if (target === undefined) return
  const args = { virtualmachineid: vm.id, hostid: target.id }
  const postcondition = { thing: 'vm', args: { id: vm.id }, expect: { hostid: target.id } } as const
  try {
    await changeOnce(
      run,
      platformChange(cloudstack, run, {
        name: `migrate ${vm.id}`,
        command: 'migrateVirtualMachine',
        args,
        slow: true,
        postcondition,
      }),
    )
    await run.note('INFO', `${vm.name} runs on ${target.name}.`, { vm_id: vm.id, host_id: target.id })
  } catch (error) {
    await goOnAfter(run, error, `${vm.name} was not moved to ${target.name}`)
  }
}

/** What a system refuses is noted; everything else ends the step. */
async function goOnAfter(run: LeaveRun, error: unknown, what: string): Promise<void> {
  if (!(error instanceof ApiError || error instanceof UpstreamError)) throw error
  run.signal.throwIfAborted()
  await run.note('WARN', `${what}: ${asApiError(error, null).message}`)
}

/** All of them are looked at before the first is destroyed: one that nobody named stops everything. */
async function destroyNamed(run: LeaveRun): Promise<void> {
  const named = new Set(run.input.destroy.map(({ id }) => id))
  const here = userVms((await hostNow(run)).vms)
  const strangers = here.filter(({ id }) => !named.has(id))
  if (strangers.length > 0) {
    throw new ApiError(
      'VM_NOT_ACKNOWLEDGED',
      `${strangers.map(({ name }) => name).join(', ')} came to the host and was not named to be destroyed; nothing was destroyed. Repeat the preflight.`,
    )
  }
  for (const { id, name } of here) await destroyOne(run, id, name)
}

async function destroyOne(run: LeaveRun, id: string, name: string): Promise<void> {
  const { cloudstack } = run.deps
  const { host } = await hostNow(run)
  const row = await findOne(
    cloudstack,
    'listVirtualMachines',
    'virtualmachine',
    { id, details: 'min', ...WHOLE_SCOPE },
    { signal: run.signal },
  )
  const place = row === undefined ? undefined : textOf(row, 'hostid')
  if (row === undefined) return
  if (place !== null && place !== host.id)
    return run.note('WARN', `${name} has moved to another host and is left alone.`)
  await run.note('DESTRUCTIVE', `${name} is destroyed: the caller named it.`, { vm_id: id })
  await changeOnce(
    run,
    platformChange(cloudstack, run, {
      name: `destroy ${id}`,
      command: 'destroyVirtualMachine',
      args: { id, expunge: true },
      postcondition: { thing: 'vm', args: { id }, expect: { state: 'Expunging' }, gone: true },
    }),
  )
  await run.note('DESTRUCTIVE', `${name} is destroyed.`, { vm_id: id })
}

async function moveSystem(run: LeaveRun): Promise<void> {
  const { vms, targets } = await hostNow(run)
  const [target] = targets.toSorted((a, b) => b.free_mem_bytes - a.free_mem_bytes)
  if (target === undefined) return
  for (const { id, name, kind } of ownVms(vms)) {
    const args = { virtualmachineid: id, hostid: target.id }
    try {
      await changeOnce(
        run,
        platformChange(run.deps.cloudstack, run, {
          name: `migrate ${id}`,
          command: 'migrateSystemVm',
          args,
          slow: true,
        }),
      )
      await run.note('INFO', `${name} (${kind}) runs on ${target.name}.`)
    } catch (error) {
      await goOnAfter(run, error, `${name} was not moved to ${target.name}`)
    }
  }
}

async function enterMaintenance(run: LeaveRun): Promise<void> {
  const { cloudstack } = run.deps
  const { host, vms } = await hostNow(run)
  const left = userVms(vms)
  if (left.length > 0) throw cannotMove(left)
  const { id } = host
  await changeOnce(
    run,
    platformChange(cloudstack, run, {
      name: 'maintenance',
      command: 'prepareHostForMaintenance',
      args: { id },
      slow: true,
    }),
  )
  for (;;) {
    const now = (await hostNow(run)).host
    if (now.resource_state === 'Maintenance') return
    if (now.resource_state.startsWith('ErrorIn'))
      throw new ApiError(
        'HOST_STATE',
        `The compute platform could not empty host ${now.name}: it is ${now.resource_state}. Look at its alerts, then retry.`,
      )
    await cloudstack.pause(POLL_MS, run.signal)
  }
}

async function leaveMaintenance(run: LeaveRun): Promise<void> {
  const { host } = await platformOf(run)
  if (host === null || !host.resource_state.endsWith('Maintenance')) return
  const args = { id: host.id }
  await changeOnce(
    run,
    platformChange(run.deps.cloudstack, run, { name: 'cancel-maintenance', command: 'cancelHostMaintenance', args }),
  )
}

/** Both flags are sent: left out, the one for local storage counts as true, and a forced deletion stops machines by its own rules. */
async function deleteHost(run: LeaveRun): Promise<void> {
  const { cloudstack } = run.deps
  const { host } = await platformOf(run)
  // Its answer was lost.
  if (host === null) return
  const requireEmpty = async (): Promise<void> => {
    const now = await hostNow(run)
    if (now.host.resource_state !== 'Maintenance')
      throw new ApiError(
        'HOST_STATE',
        `Host ${now.host.name} is ${now.host.resource_state}; it is removed from maintenance alone.`,
      )
    if (userVms(now.vms).length > 0) throw cannotMove(userVms(now.vms))
  }
  await requireEmpty()
  await cloudstack.pause(SEEN_TWICE_MS, run.signal)
  await requireEmpty()
  await run.note('DESTRUCTIVE', `Host ${host.name} is removed from the compute platform.`, { host_id: host.id })
  await cloudstack.call(
    'deleteHost',
    { id: host.id, forced: false, forcedestroylocalstorage: false },
    { signal: run.signal },
  )
}

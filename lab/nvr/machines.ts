/**
 * The virtual machines of the NVR's template on the simulated platform: each that runs is served by a simulated NVR on its own
 * address. Any address 127.x.y.z can be listened on, so the platform's network for them has such addresses.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { CloudStackLab } from '../cloudstack/server.ts'
import { readUserData } from './first-boot.ts'
import { isObject, parseJson } from './json.ts'
import { type NvrLab, startNvr, type StartNvrOptions } from './server.ts'

export interface NvrMachinesOptions extends Pick<StartNvrOptions, 'restart' | 'timetable' | 'relay_url' | 'log'> {
  /** Name of the template; machines of others are left alone. */
  template: string
  /** Where the disks of the machines are kept: file and password as they were changed. */
  state_file?: string
}

export interface NvrMachines {
  /** By the id of the machine. */
  running: ReadonlyMap<string, NvrLab>
  close(): Promise<void>
}

/** What survives a stop of the machine. */
interface Disk {
  config_file: string
  admin_password: string
}

export function runNvrMachines(platform: CloudStackLab, options: NvrMachinesOptions): NvrMachines {
  const { log = () => {}, template, state_file } = options
  const { tables } = platform.state
  const running = new Map<string, NvrLab>()
  const disks = readDisks(state_file)
  let closed = false

  const addressOf = (id: string): string | null => {
    const vm = tables.vms.get(id)
    if (vm === null || vm.state !== 'Running' || tables.templates.get(vm.templateid)?.name !== template) return null
    return vm.nics[0]?.ipaddress ?? null
  }
  const keepDisk = (id: string, { state }: NvrLab): void => {
    const admin_password = state.users.get('admin')?.password ?? ''
    disks.set(id, { config_file: state.file, admin_password })
    writeDisks(state_file, disks)
  }
  /** Starts or ends the NVR of a machine, whichever its state wants. */
  const follow = async (id: string): Promise<void> => {
    const address = closed ? null : addressOf(id)
    const nvr = running.get(id)
    if (address !== null && nvr === undefined) {
      const boot = readUserData(tables.vms.get(id)?.userdata ?? '', address)
      const { restart, timetable, relay_url } = options
      const started = await startNvr({
        ...boot,
        ...disks.get(id),
        address,
        log,
        ...(restart === undefined ? {} : { restart }),
        ...(timetable === undefined ? {} : { timetable }),
        ...(relay_url === undefined ? {} : { relay_url }),
      })
      running.set(id, started)
      started.state.onStored = () => keepDisk(id, started)
    }
    if (address === null && nvr !== undefined) {
      running.delete(id)
      await nvr.close()
    }
    if (!closed && tables.vms.get(id) === null && disks.delete(id)) writeDisks(state_file, disks)
  }
  let queue = Promise.resolve()
  const followLater = (id: string): void => {
    queue = queue.then(async () => follow(id)).catch((error: unknown) => log(`machine ${id}: ${String(error)}`))
  }

  tables.vms.watch((id) => {
    if (!closed) followLater(id)
  })
  for (const { id } of tables.vms.values()) followLater(id)
  return {
    running,
    close: async () => {
      closed = true
      for (const id of running.keys()) followLater(id)
      await queue
    },
  }
}

function readDisks(state_file: string | undefined): Map<string, Disk> {
  const disks = new Map<string, Disk>()
  let text = '{}'
  try {
    if (state_file !== undefined) text = readFileSync(state_file, 'utf8')
  } catch {
    // The first start has none.
  }
  const stored = parseJson(text)?.value
  for (const [id, disk] of Object.entries(isObject(stored) ? stored : {})) {
    if (!isObject(disk)) continue
    const { config_file, admin_password } = disk
    if (typeof config_file === 'string' && typeof admin_password === 'string')
      disks.set(id, { config_file, admin_password })
  }
  return disks
}

function writeDisks(state_file: string | undefined, disks: ReadonlyMap<string, Disk>): void {
  if (state_file === undefined) return
  writeFileSync(`${state_file}.new`, JSON.stringify(Object.fromEntries(disks)), { mode: 0o600 })
  renameSync(`${state_file}.new`, state_file)
}

/** Simulated remote KVMs, each an HTTPS service of its own with a machine behind it, and one control API over all of them. */
import 'reflect-metadata'
import {
  closeServer,
  type CallLog,
  ControlError,
  type ControlSubject,
  createCallLog,
  createFaults,
  openControlApi,
} from '../control.ts'
import { openDevice } from '../device-server.ts'
import { createArmedFaults } from '../request-faults.ts'
import type { KvmFault, KvmFaults } from './faults.ts'
import { createKvmHandler } from './request-handler.ts'
import { createSimulation } from './simulation.ts'
import { freshState, type Habits, type KvmState, LAB_SPEED, type Speed } from './state.ts'

export interface SimulatedKvm {
  name: string
  host: string
  port: number
  username: string
  password: string
  state: KvmState
  faults: KvmFaults
  fingerprint(): string
  /** Shows another certificate from now on; open connections end. */
  rotateCertificate(): Promise<void>
}

export interface KvmOptions {
  name: string
  /** An address of its own; 127.0.0.1 when left out. */
  host?: string
  port?: number
  username?: string
  password?: string
}

export interface PikvmOptions {
  kvms: readonly KvmOptions[]
  speed?: Partial<Speed>
  control_port?: number
}

export interface PikvmLab {
  control_url: string
  kvms: Record<string, SimulatedKvm>
  calls: CallLog
  close(): Promise<void>
}

export async function startPikvm({ kvms, speed = {}, control_port = 0 }: PikvmOptions): Promise<PikvmLab> {
  const calls = createCallLog()
  await using opened = new AsyncDisposableStack()
  const all: Record<string, SimulatedKvm> = {}
  for (const options of kvms) {
    const { kvm, close } = await startOne(options, { ...LAB_SPEED, ...speed }, calls)
    opened.defer(close)
    all[kvm.name] = kvm
  }
  const control = await openControlApi(subjectOf(all, calls), { host: '127.0.0.1', port: control_port })
  opened.defer(() => control.close())
  const whole = opened.move()
  return { control_url: control.url, kvms: all, calls, close: () => whole.disposeAsync() }
}

async function startOne(options: KvmOptions, speed: Speed, calls: CallLog) {
  const { name, host = '127.0.0.1' } = options
  const faults = createArmedFaults<KvmFault>()
  const state = freshState(options, speed)
  const sim = createSimulation(state)
  const { server, port, fingerprint, rotateCertificate } = await openDevice(name, host, options.port)
  const handle = createKvmHandler({ sim, faults, calls })
  // Who stops the lab stops what still waits for its answer.
  server.on('request', (request, response) => void handle(request, response).catch(() => response.destroy()))
  const { username, password } = state
  const kvm: SimulatedKvm = { name, host, port, username, password, state, faults, fingerprint, rotateCertificate }
  const close = async (): Promise<void> => {
    await sim.stop()
    await closeServer(server)
  }
  return { kvm, close }
}

function subjectOf(kvms: Record<string, SimulatedKvm>, calls: CallLog): ControlSubject {
  const find = (name: unknown): SimulatedKvm => {
    const kvm = kvms[String(name)]
    if (kvm === undefined) throw new ControlError(`kvm is one of ${Object.keys(kvms).join(', ')}`)
    return kvm
  }
  return {
    faults: createFaults(),
    calls,
    step: () => ({ ok: true }),
    reset: () => {
      calls.clear()
      for (const { faults } of Object.values(kvms)) faults.clear()
    },
    state: () =>
      Object.fromEntries(Object.entries(kvms).map(([name, { state, host, port }]) => [name, shown(state, host, port)])),
    mutate: (_kind, id, set) => {
      Object.assign(find(id).state.machine, set)
      return { ok: true }
    },
    routes: {
      'POST /fault': (body) => {
        find(body['kvm']).faults.add({ match: '.*', ...body } as unknown as KvmFault)
        return { ok: true }
      },
      'POST /habits': (body) => {
        const { kvm, ...habits } = body
        Object.assign(find(kvm).state.habits, habits as Partial<Habits>)
        return { ok: true }
      },
      'POST /rotate-certificate': async (body) => {
        const kvm = find(body['kvm'])
        await kvm.rotateCertificate()
        return { fingerprint: kvm.fingerprint() }
      },
    },
  }
}

/** Without the answer file of what is installed: it has a token. */
function shown({ machine, drive, images, keys, presses }: KvmState, host: string, port: number): object {
  const { installed, ...rest } = machine
  const sizes = [...images].map(([name, { bytes, complete }]) => ({ name, bytes: bytes.length, complete }))
  return { host, port, drive, images: sizes, keys, presses, machine: { ...rest, installed: installed !== null } }
}

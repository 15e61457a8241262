/** Simulated BMCs, each a Redfish service of its own with its own certificate, and one control API over all of them. */
import 'reflect-metadata'
import {
  closeServer,
  type ControlSubject,
  ControlError,
  createCallLog,
  createFaults,
  openControlApi,
  type CallLog,
} from '../control.ts'
import { openDevice } from '../device-server.ts'
import { createArmedFaults } from '../request-faults.ts'
import type { BmcFault, BmcFaults } from './faults.ts'
import type { ProfileName } from './profiles.ts'
import { createBmcHandler } from './request-handler.ts'
import { createSimulation } from './simulation.ts'
import { type BmcState, freshState, type Habits, LAB_SPEED, type Speed } from './state.ts'

export interface SimulatedBmc {
  name: string
  host: string
  port: number
  username: string
  password: string
  state: BmcState
  faults: BmcFaults
  fingerprint(): string
  /** Shows another certificate from now on; open connections end. */
  rotateCertificate(): Promise<void>
  /** Every session is gone, as after a restart of the BMC. */
  loseSessions(): void
}

export interface BmcOptions {
  name: string
  profile: ProfileName
  /** An address of its own; 127.0.0.1 when left out. */
  host?: string
  port?: number
  username?: string
  password?: string
}

export interface RedfishOptions {
  bmcs: readonly BmcOptions[]
  speed?: Partial<Speed>
  control_port?: number
  /** A machine starts from virtual media: here it can be played on. */
  onBoot?: (bmc: string, image: string) => void
}

export interface RedfishLab {
  control_url: string
  bmcs: Record<string, SimulatedBmc>
  calls: CallLog
  close(): Promise<void>
}

export async function startRedfish({
  bmcs,
  speed = {},
  control_port = 0,
  onBoot = () => {},
}: RedfishOptions): Promise<RedfishLab> {
  const calls = createCallLog()
  await using opened = new AsyncDisposableStack()
  const all: Record<string, SimulatedBmc> = {}
  for (const options of bmcs) {
    const { bmc, close } = await startOne(options, { ...LAB_SPEED, ...speed }, calls, onBoot)
    opened.defer(close)
    all[bmc.name] = bmc
  }
  const control = await openControlApi(subjectOf(all, calls), { host: '127.0.0.1', port: control_port })
  opened.defer(() => control.close())
  const whole = opened.move()
  return { control_url: control.url, bmcs: all, calls, close: () => whole.disposeAsync() }
}

async function startOne(
  options: BmcOptions,
  speed: Speed,
  calls: CallLog,
  onBoot: (bmc: string, image: string) => void,
) {
  const { name, host = '127.0.0.1' } = options
  const faults = createArmedFaults<BmcFault>()
  const state = freshState(options, speed)
  const { server, port, fingerprint, rotateCertificate } = await openDevice(name, host, options.port)
  const sim = createSimulation(state, {
    hangUp: () => server.closeAllConnections(),
    onBoot: (image) => onBoot(name, image),
  })
  const handle = createBmcHandler({ sim, faults, calls })
  server.on('request', (request, response) => void handle(request, response))
  const { username, password } = state
  const bmc: SimulatedBmc = {
    name, host, port, username, password, state, faults, fingerprint, rotateCertificate,
    loseSessions: () => state.sessions.clear(),
  } // biome-ignore format: a record
  const close = async (): Promise<void> => {
    sim.stop()
    await closeServer(server)
  }
  return { bmc, close }
}

function subjectOf(bmcs: Record<string, SimulatedBmc>, calls: CallLog): ControlSubject {
  const find = (body: Record<string, unknown>): SimulatedBmc => {
    const bmc = bmcs[String(body['bmc'])]
    if (bmc === undefined) throw new ControlError(`bmc is one of ${Object.keys(bmcs).join(', ')}`)
    return bmc
  }
  return {
    faults: createFaults(),
    calls,
    step: () => ({ ok: true }),
    reset: () => {
      calls.clear()
      for (const { faults } of Object.values(bmcs)) faults.clear()
    },
    state: () =>
      Object.fromEntries(
        Object.entries(bmcs).map(([name, { state, host, port }]) => [
          name,
          {
            host,
            port,
            power: state.power,
            boot: state.boot,
            media: state.media,
            jobs: state.jobs,
            bios: state.bios,
            pending: state.bios_pending,
            booted_from: state.booted_from,
          },
        ]),
      ),
    mutate: (_kind, id, set) => {
      const bmc = find({ bmc: id })
      Object.assign(bmc.state, set)
      return { ok: true }
    },
    routes: {
      'POST /fault': (body) => {
        find(body).faults.add({ match: '.*', ...body } as unknown as BmcFault)
        return { ok: true }
      },
      'POST /habits': (body) => {
        const { bmc: _bmc, ...habits } = body
        Object.assign(find(body).state.habits, habits as Partial<Habits>)
        return { ok: true }
      },
      'POST /rotate-certificate': async (body) => {
        await find(body).rotateCertificate()
        return { fingerprint: find(body).fingerprint() }
      },
      'POST /lose-sessions': (body) => {
        find(body).loseSessions()
        return { ok: true }
      },
    },
  }
}

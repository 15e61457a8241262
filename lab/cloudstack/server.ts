/** A simulated Apache CloudStack 4.22: its HTTP API on one port, its control API on another. */
import { createServer } from 'node:http'
import { createCallLog, createFaults, closeServer, listenOn, openControlApi } from '../control.ts'
import { DEFAULT_SIZE, seededId } from '../site.ts'
import type { SiteSize } from '../site.ts'
import { readCatalogue } from './catalogue.ts'
import { createControlSubject } from './control-subject.ts'
import { createEventLog } from './event-log.ts'
import { Jobs } from './jobs.ts'
import { createVolatileJournal, openJournal, readJournal } from './journal.ts'
import { createLatencies } from './latencies.ts'
import type { Journal, JournalChange, JournalHeader } from './journal.ts'
import { createRequestHandler } from './request-handler.ts'
import { INTERVAL_MS } from './sampler.ts'
import { seed } from './seed/seed.ts'
import { isKind, SimulatorState } from './state.ts'
import { createMaintenance } from './maintenance.ts'
import { createWebhookSender } from './webhook-sender.ts'

export interface CloudStackOptions {
  state_file?: string
  port?: number
  host?: string
  control_port?: number
  size?: SiteSize
  time: 'auto' | 'step'
  /** Whether webhooks may lead to this machine, which the platform itself refuses. */
  loopback_webhooks?: boolean
  /** Whether answers take as long as the real platform's. */
  latencies?: boolean
  /** What signatures are accepted; this version of the platform knows HMAC-SHA1 only. */
  signature?: 'hmac-sha1' | 'hmac-sha512'
  log?: (line: string) => void
}

export interface CloudStackLab {
  url: string
  control_url: string
  api_key: string
  secret_key: string
  state: SimulatorState
  step(n?: number): void
  reset(): void
  close(): Promise<void>
}

/** Lab credentials: the same in every run, worth nothing outside of it. */
const KEYS = {
  api_key: seededId('apikey', 'admin').replaceAll('-', ''),
  secret_key: seededId('secretkey', 'admin').replaceAll('-', ''),
}

export async function startCloudStack(options: CloudStackOptions): Promise<CloudStackLab> {
  const state = new SimulatorState()
  state.loopback_webhooks = options.loopback_webhooks ?? false
  const { journal, interrupted, header } = await loadState(state, options)
  state.onChange = (kind, id, record) => {
    journal.note(kind, id, record)
  }
  const log = options.log ?? (() => {})
  const platform = buildPlatform(state, journal, options.time, log)
  const { jobs, maintenance, webhooks, faults, calls, unknownParameters, changed, step } = platform
  if (interrupted) maintenance.afterRestart(jobs.failInterrupted())
  const reset = (): void => {
    jobs.stop()
    faults.clear()
    calls.clear()
    unknownParameters.clear()
    reseed(state, header.size)
    journal.restart({ ...header, seeded_at: state.seeded_at }).catch((error: unknown) => {
      log(`state file: ${String(error)}`)
    })
  }
  const latencies = createLatencies(options.latencies ?? false)
  const handle = createRequestHandler({
    ...platform,
    state,
    journal,
    catalogue: readCatalogue(),
    sample: () => Math.floor((options.time === 'auto' ? Date.now() : state.seeded_at) / INTERVAL_MS) + state.steps,
    signature: options.signature ?? 'hmac-sha1',
    latencies,
    log,
    unknown: (command, parameter) => unknownParameters.set(`${command}/${parameter}`, { command, parameter }),
  })
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    void handle(request, response)
  })
  const host = options.host ?? '127.0.0.1'
  const subject = createControlSubject({
    latencies,
    state,
    jobs,
    faults,
    calls,
    unknownParameters,
    step,
    reset,
    changed,
  })
  const control = await openControlApi(subject, { host, port: options.control_port ?? 0 })
  const origin = await listenOn(server, { host, port: options.port ?? 0 })
  state.consoles.serve(server)
  state.console_address = { host, port: Number(new URL(origin).port) }
  changed()
  return {
    url: `${origin}/client/api`,
    control_url: control.url,
    ...KEYS,
    state,
    step,
    reset,
    close: async () => {
      jobs.stop()
      maintenance.stop()
      state.consoles.close()
      await Promise.all([closeServer(server), control.close()])
      await webhooks.stop()
      await journal.close()
    },
  }
}

/** The moving parts between the simulator state and its two ports. */
function buildPlatform(state: SimulatorState, journal: Journal, time: 'auto' | 'step', log: (line: string) => void) {
  const changed = (): void => {
    journal.commit().catch((error: unknown) => {
      log(`state file: ${String(error)}`)
    })
  }
  const faults = createFaults()
  const webhooks = createWebhookSender(state)
  const events = createEventLog(state, (event, caller) => {
    webhooks.publish(event, caller)
  })
  const jobs = new Jobs({ state, events, faults, time, changed })
  const maintenance = createMaintenance({ state, events, jobs, time, changed })
  const step = (n = 1): void => {
    state.steps += n
    jobs.step(n)
    maintenance.step()
    changed()
  }
  const unknownParameters = new Map<string, { command: string; parameter: string }>()
  return { changed, faults, webhooks, events, jobs, maintenance, step, unknownParameters, calls: createCallLog() }
}

/** The journal is told of the new simulator state as a whole, not of every record that went and came. */
function reseed(state: SimulatorState, size: SiteSize): void {
  const note = state.onChange
  state.onChange = () => {}
  state.clear()
  seed(state, size, Date.now(), KEYS)
  state.onChange = note
}

/** A state file is the seed's size and time plus all changes since; without one the simulator state is seeded afresh. */
async function loadState(
  state: SimulatorState,
  options: CloudStackOptions,
): Promise<{ journal: Journal; interrupted: boolean; header: JournalHeader }> {
  const stored = options.state_file === undefined ? null : readJournal(options.state_file)
  const header = stored?.header ?? { format: 1 as const, size: options.size ?? DEFAULT_SIZE, seeded_at: Date.now() }
  seed(state, header.size, header.seeded_at, KEYS)
  const seededEvents = new Set([...state.tables.events.values()].map((event) => event.id))
  for (const change of stored?.changes ?? []) apply(state, change)
  const journal =
    options.state_file === undefined
      ? createVolatileJournal()
      : await openJournal(options.state_file, header, stored?.changes ?? [], {
          fresh: stored === null,
          seeded: (id) => seededEvents.has(id),
        })
  return { journal, interrupted: stored !== null, header }
}

function apply(state: SimulatorState, change: JournalChange): void {
  const { kind, id, record } = change
  if (!isKind(state.tables, kind)) return
  if (record === null) state.drop(kind, id)
  else state.restore(kind, record)
}

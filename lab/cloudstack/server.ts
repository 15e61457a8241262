/** A simulated Apache CloudStack 4.22: its HTTP API on one port, its control door on another. */
import { createServer } from 'node:http'
import { createCallLog, createFaults, closeServer, listenOn, openControlDoor } from '../control.ts'
import { DEFAULT_SIZE, seededId } from '../world.ts'
import type { WorldSize } from '../world.ts'
import { readCatalogue } from './catalogue.ts'
import { createControlSubject } from './control-subject.ts'
import { createEventLog } from './event-log.ts'
import { Jobs } from './jobs.ts'
import { createVolatileJournal, openJournal, readJournal } from './journal.ts'
import type { Journal, JournalChange, JournalHeader } from './journal.ts'
import { createRequestHandler } from './request-handler.ts'
import { INTERVAL_MS } from './sampler.ts'
import { seed } from './seed/seed.ts'
import { isKind, World } from './state.ts'
import { createUpkeep } from './upkeep.ts'
import { createWebhookSender } from './webhook-sender.ts'

export interface CloudStackOptions {
  state_file?: string
  port?: number
  host?: string
  control_port?: number
  size?: WorldSize
  time: 'auto' | 'step'
  /** What signatures are accepted; this version of the platform knows HMAC-SHA1 only. */
  signature?: 'hmac-sha1' | 'hmac-sha512'
  log?: (line: string) => void
}

export interface CloudStackLab {
  url: string
  control_url: string
  api_key: string
  secret_key: string
  world: World
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
  const world = new World()
  const { journal, interrupted, header } = await loadWorld(world, options)
  world.onChange = (kind, id, record) => {
    journal.note(kind, id, record)
  }
  const log = options.log ?? (() => {})
  const platform = buildPlatform(world, journal, options.time, log)
  const { jobs, upkeep, webhooks, faults, calls, unknownParameters, changed, step } = platform
  if (interrupted) upkeep.afterRestart(jobs.failInterrupted())
  const reset = (): void => {
    jobs.stop()
    faults.clear()
    calls.clear()
    unknownParameters.clear()
    reseed(world, header.size)
    journal.restart({ ...header, seeded_at: world.seeded_at }).catch((error: unknown) => {
      log(`state file: ${String(error)}`)
    })
  }
  const handle = createRequestHandler({
    ...platform,
    world,
    journal,
    catalogue: readCatalogue(),
    sample: () => Math.floor((options.time === 'auto' ? Date.now() : world.seeded_at) / INTERVAL_MS) + world.steps,
    signature: options.signature ?? 'hmac-sha1',
    log,
    unknown: (command, parameter) => unknownParameters.set(`${command}/${parameter}`, { command, parameter }),
  })
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    void handle(request, response)
  })
  const host = options.host ?? '127.0.0.1'
  const subject = createControlSubject({ world, jobs, faults, calls, unknownParameters, step, reset, changed })
  const door = await openControlDoor(subject, { host, port: options.control_port ?? 0 })
  const origin = await listenOn(server, { host, port: options.port ?? 0 })
  changed()
  return {
    url: `${origin}/client/api`,
    control_url: door.url,
    ...KEYS,
    world,
    step,
    reset,
    close: async () => {
      jobs.stop()
      upkeep.stop()
      await Promise.all([closeServer(server), door.close()])
      await webhooks.stop()
      await journal.close()
    },
  }
}

/** The moving parts between the world and its two doors. */
function buildPlatform(world: World, journal: Journal, time: 'auto' | 'step', log: (line: string) => void) {
  const changed = (): void => {
    journal.commit().catch((error: unknown) => {
      log(`state file: ${String(error)}`)
    })
  }
  const faults = createFaults()
  const webhooks = createWebhookSender(world, changed)
  const events = createEventLog(world, (event, caller) => {
    webhooks.publish(event, caller)
  })
  const jobs = new Jobs({ world, events, faults, time, changed })
  const upkeep = createUpkeep({ world, events, jobs, time, changed })
  const step = (n = 1): void => {
    world.steps += n
    jobs.step(n)
    upkeep.step()
    changed()
  }
  const unknownParameters = new Map<string, { command: string; parameter: string }>()
  return { changed, faults, webhooks, events, jobs, upkeep, step, unknownParameters, calls: createCallLog() }
}

/** The journal is told of the new world as a whole, not of every record that went and came. */
function reseed(world: World, size: WorldSize): void {
  const note = world.onChange
  world.onChange = () => {}
  world.clear()
  seed(world, size, Date.now(), KEYS)
  world.onChange = note
}

/** A state file is the seed's size and time plus all changes since; without one the world is made anew. */
async function loadWorld(
  world: World,
  options: CloudStackOptions,
): Promise<{ journal: Journal; interrupted: boolean; header: JournalHeader }> {
  const kept = options.state_file === undefined ? null : readJournal(options.state_file)
  const header = kept?.header ?? { format: 1 as const, size: options.size ?? DEFAULT_SIZE, seeded_at: Date.now() }
  seed(world, header.size, header.seeded_at, KEYS)
  const seededEvents = new Set([...world.tables.events.values()].map((event) => event.id))
  for (const change of kept?.changes ?? []) apply(world, change)
  const journal =
    options.state_file === undefined
      ? createVolatileJournal()
      : await openJournal(options.state_file, header, kept?.changes ?? [], {
          fresh: kept === null,
          seeded: (id) => seededEvents.has(id),
        })
  return { journal, interrupted: kept !== null, header }
}

function apply(world: World, change: JournalChange): void {
  const { kind, id, record } = change
  if (!isKind(world.tables, kind)) return
  if (record === null) world.drop(kind, id)
  else world.restore(kind, record)
}

/** A simulated NetBox 4.6: the part of its REST API that address management uses, and a control API. */
import { createServer } from 'node:http'
import { closeServer, ControlError, createCallLog, createFaults, listenOn, openControlApi } from '../control.ts'
import { seededId } from '../site.ts'
import { KINDS, type KindName } from './kinds.ts'
import { createRequestHandler, type Token } from './request-handler.ts'
import { seed } from './seed.ts'
import { byId, type NetBoxState } from './state.ts'

export interface NetBoxOptions {
  host?: string
  port?: number
  control_port?: number
  /** Instead of the seed. */
  state?: NetBoxState
  /** Besides its own. */
  tokens?: readonly Token[]
  log?: (line: string) => void
}

export interface NetBoxLab {
  url: string
  control_url: string
  token: string
  readonly state: NetBoxState
  reset(): void
  close(): Promise<void>
}

/** The same in every run, worth nothing outside of it. */
const SECRET = (seededId('token', 'netbox') + seededId('token', 'lab')).replaceAll('-', '')
const TOKEN = `nbt_${SECRET.slice(0, 12)}.${SECRET.slice(12, 52)}`

export async function startNetBox(options: NetBoxOptions = {}): Promise<NetBoxLab> {
  const { host = '127.0.0.1', log = () => {}, tokens = [] } = options
  const start = (): NetBoxState => structuredClone(options.state) ?? seed()
  let state = start()
  const [faults, calls] = [createFaults(), createCallLog()]
  const reset = (): void => {
    faults.clear()
    calls.clear()
    state = start()
  }
  const handle = createRequestHandler({
    state: () => state,
    tokens: [{ value: TOKEN }, ...tokens],
    faults,
    calls,
    log,
  })
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    void handle(request, response)
  })
  await using opened = new AsyncDisposableStack()
  const kindOf = (name: string): KindName => {
    if (Object.hasOwn(KINDS, name)) return name as KindName
    throw new ControlError(`no such kind; there are ${Object.keys(KINDS).join(', ')}`)
  }
  const control = await openControlApi(
    {
      faults,
      calls,
      reset,
      routes: {},
      step: () => ({ ok: true }),
      state: (kind) => ({ [kind]: state.rows[kindOf(kind)] }),
      mutate: (kind, id, set) => {
        const row = byId(state, kindOf(kind), Number(id))
        if (row === undefined) throw new ControlError(`no ${kind} with this id`)
        return Object.assign(row, set)
      },
    },
    { host, port: options.control_port ?? 0 },
  )
  opened.defer(() => control.close())
  const url = await listenOn(server, { host, port: options.port ?? 0 })
  opened.defer(() => closeServer(server))
  const all = opened.move()
  return {
    url,
    control_url: control.url,
    token: TOKEN,
    get state() {
      return state
    },
    reset,
    close: () => all.disposeAsync(),
  }
}

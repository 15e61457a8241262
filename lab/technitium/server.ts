/** A simulated Technitium DNS Server 15.2: its web service, its name server, and a control API with DHCP clients. */
import { createServer } from 'node:http'
import {
  closeServer,
  type ControlSubject,
  ControlError,
  createCallLog,
  createFaults,
  listenOn,
  openControlApi,
} from '../control.ts'
import { seededId } from '../site.ts'
import { Rejection } from './call.ts'
import { type LeaseAnswer, obtain, release, renew } from './dhcp-leases.ts'
import { openDnsListener } from './dns-listener.ts'
import { createRequestHandler } from './request-handler.ts'
import { seed } from './seed.ts'
import { keepState, type StoredState, type ScopeRecord } from './state.ts'

export interface TechnitiumOptions {
  state_file?: string
  host?: string
  port?: number
  control_port?: number
  /** UDP and TCP. */
  dns_port?: number
  log?: (line: string) => void
}

export interface TechnitiumLab {
  url: string
  control_url: string
  token: string
  dns_port: number
  state: StoredState
  clients: DhcpClients
  reset(): void
  close(): Promise<void>
}

/** Plays clients of the DHCP server. */
export interface DhcpClients {
  obtain(scope: string, mac: string, hostname?: string | null): LeaseAnswer
  renew(scope: string, mac: string): LeaseAnswer
  /** False when it held nothing. */
  release(scope: string, mac: string): boolean
}

/** The same in every run, worth nothing outside of it. */
const TOKEN = (seededId('token', 'admin') + seededId('token', 'lab')).replaceAll('-', '')

export async function startTechnitium(options: TechnitiumOptions = {}): Promise<TechnitiumLab> {
  const { host = '127.0.0.1', log = () => {} } = options
  const state = keepState(options.state_file, () => seed(Date.now()))
  const [faults, calls] = [createFaults(), createCallLog()]
  const clients = clientsOf(state)
  const reset = (): void => {
    faults.clear()
    calls.clear()
    state.replace(seed(Date.now()))
  }
  const handle = createRequestHandler({ state, token: TOKEN, faults, calls, log })
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    void handle(request, response)
  })
  await using opened = new AsyncDisposableStack()
  const control = await openControlApi(subjectOf(state, clients, { faults, calls, reset }), {
    host,
    port: options.control_port ?? 0,
  })
  opened.defer(() => control.close())
  const url = await listenOn(server, { host, port: options.port ?? 0 })
  opened.defer(() => closeServer(server))
  const dns = await openDnsListener(state, host, options.dns_port ?? 0)
  opened.defer(() => dns.close())
  const all = opened.move()
  return {
    url,
    control_url: control.url,
    token: TOKEN,
    dns_port: dns.port,
    state,
    clients,
    reset,
    close: () => all.disposeAsync(),
  }
}

function clientsOf(state: StoredState): DhcpClients {
  const scopeOf = (name: string): ScopeRecord => {
    const scope = state.now.scopes.find((one) => one.name === name)
    if (scope === undefined) throw new ControlError(`no scope ${name}`)
    return scope
  }
  const saved = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw error instanceof Rejection ? new ControlError(error.message) : error
    } finally {
      state.changed()
    }
  }
  return {
    obtain: (scope, mac, hostname = null) => saved(() => obtain(scopeOf(scope), mac, hostname, Date.now())),
    renew: (scope, mac) => saved(() => renew(scopeOf(scope), mac, Date.now())),
    release: (scope, mac) => saved(() => release(scopeOf(scope), mac)),
  }
}

function subjectOf(
  state: StoredState,
  clients: DhcpClients,
  common: Pick<ControlSubject, 'faults' | 'calls' | 'reset'>,
): ControlSubject {
  const text = (body: Record<string, unknown>, name: string): string => {
    const value = body[name]
    if (typeof value === 'string' && value !== '') return value
    throw new ControlError(`${name} is a text`)
  }
  return {
    ...common,
    step: () => ({ ok: true }),
    state: (kind) => {
      if (kind === 'scopes' || kind === 'zones') return { [kind]: state.now[kind] }
      throw new ControlError('no such kind; there are scopes, zones')
    },
    mutate: (kind, id, set) => {
      if (kind !== 'scopes' && kind !== 'zones') throw new ControlError('no such kind; there are scopes, zones')
      const found = state.now[kind].find((one) => one.name === id)
      if (found === undefined) throw new ControlError(`no ${kind} with this name`)
      const unknown = Object.keys(set).filter((name) => !Object.hasOwn(found, name))
      if (unknown.length > 0) throw new ControlError(`${kind} have no ${unknown.join(', ')}`)
      Object.assign(found, set)
      state.changed()
      return found
    },
    routes: {
      'POST /obtain': (body) => {
        const { hostname } = body
        const name = typeof hostname === 'string' ? hostname : null
        return { answer: clients.obtain(text(body, 'scope'), text(body, 'mac'), name) }
      },
      'POST /renew': (body) => ({ answer: clients.renew(text(body, 'scope'), text(body, 'mac')) }),
      'POST /release': (body) => ({ released: clients.release(text(body, 'scope'), text(body, 'mac')) }),
    },
  }
}

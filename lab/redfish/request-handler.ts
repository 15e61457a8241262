/** Answers one request to a simulated BMC: who asks, which fault is due, which resource is meant. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallLog } from '../control.ts'
import { readText } from '../control.ts'
import { authenticate, openSession } from './accounts.ts'
import { type Document, notFound, Refused, type Reply, textOf } from './answer.ts'
import { documentAt, pathsOf } from './documents.ts'
import { applyFault, type BmcFaults } from './faults.ts'
import { clearJobs, deleteJob, stageBios, startUpdate } from './jobs.ts'
import { eject, insert } from './media.ts'
import { reset } from './power.ts'
import type { Simulation } from './simulation.ts'
import type { Boot, Value } from './state.ts'

const ROOT = '/redfish/v1'

export interface HandlerParts {
  sim: Simulation
  faults: BmcFaults
  calls: CallLog
}

export function createBmcHandler(parts: HandlerParts) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { sim, faults, calls } = parts
    const path = (request.url ?? '/').split('?')[0]?.replace(/\/+$/, '') ?? '/'
    const method = request.method ?? 'GET'
    const body = await readText(request).catch(() => '')
    if (sim.state.dead) return void request.socket.destroy()
    calls.record(`${sim.state.name} ${method} ${path}`, Object.entries(recorded(request)), null)
    const act = (): Promise<Reply> => answer(parts, { method, path, body, headers: request.headers })
    const fault = faults.take(`${method} ${path}`)
    if (fault !== undefined && (await applyFault(fault, act, response))) return
    send(response, method, await act())
  }
}

function recorded({ headers }: IncomingMessage): Record<string, string> {
  const by =
    headers['x-auth-token'] !== undefined ? 'session' : headers.authorization !== undefined ? 'basic' : 'nobody'
  return { by, if_match: headers['if-match'] ?? '' }
}

interface Asked {
  method: string
  path: string
  body: string
  headers: NodeJS.Dict<string | string[]>
}

async function answer(parts: HandlerParts, asked: Asked): Promise<Reply> {
  try {
    return await route(parts, asked)
  } catch (error) {
    if (error instanceof Refused) return error.reply
    throw error
  }
}

async function route({ sim }: HandlerParts, asked: Asked): Promise<Reply> {
  const { state } = sim
  const { method, path, headers } = asked
  const at = pathsOf(state)
  const open =
    (method === 'GET' && path === ROOT) || (state.profile.sessions && method === 'POST' && path === at.sessions)
  if (!open) authenticate(sim, headers)
  if (method === 'GET') return read(sim, path)
  if (!state.ready && !path.endsWith('GetRemoteServicesAPIStatus'))
    throw new Refused(503, 'IDRAC.2.8.SYS518', 'The BMC is not ready.')
  if (method === 'POST') return post(sim, path, parsed(asked.body))
  if (method === 'PATCH') return patch(sim, path, parsed(asked.body), headers['if-match'])
  if (method === 'DELETE') return remove(sim, path)
  throw new Refused(405, 'Base.1.12.OperationNotAllowed', 'The method is not allowed.')
}

function read(sim: Simulation, path: string): Reply {
  const document = documentAt(sim.state, path)
  if (document === undefined) throw notFound(path)
  const etag = etagOf(sim, path)
  return { status: 200, ...(etag === undefined ? {} : { headers: { etag } }), body: document }
}

function etagOf({ state }: Simulation, path: string): string | undefined {
  if (state.profile.etags === 'none') return undefined
  const tag = `"${state.version}-${path.length}"`
  return state.profile.etags === 'weak' ? `W/${tag}` : tag
}

function parsed(text: string): Document {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refused(400, 'Base.1.12.MalformedJSON', 'The body is not JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Document
  throw new Refused(400, 'Base.1.12.MalformedJSON', 'The body is not an object.')
}

async function post(sim: Simulation, path: string, body: Document): Promise<Reply> {
  const { state } = sim
  const at = pathsOf(state)
  if (state.profile.sessions && path === at.sessions) return openSession(sim, body, at.sessions)
  if (path === `${at.system}${state.profile.reset_target}`) {
    reset(sim, textOf(body, 'ResetType'))
    return { status: 204 }
  }
  if (state.profile.update && path === state.profile.update_target) return update(sim, body)
  if (path.endsWith('DellJobService.DeleteJobQueue')) {
    clearJobs(sim, textOf(body, 'JobID') === 'JID_CLEARALL_FORCE')
    return { status: 200, body: {} }
  }
  if (path.endsWith('GetRemoteServicesAPIStatus')) {
    const word = state.ready ? 'Ready' : 'NotReady'
    return { status: 200, body: { LCStatus: word, Status: word, ServerStatus: 'OutOfPOST' } }
  }
  const media = state.media.find(({ id }) => path.startsWith(`${at.media}/${id}/Actions/`))
  if (media !== undefined && path.endsWith('InsertMedia')) {
    await insert(sim, media, body)
    return { status: 204 }
  }
  if (media !== undefined && path.endsWith('EjectMedia')) {
    eject(sim, media)
    return { status: 204 }
  }
  throw notFound(path)
}

function update(sim: Simulation, body: Document): Reply {
  const image = textOf(body, 'ImageURI')
  if (!/^https?:/.test(image)) throw new Refused(400, 'IDRAC.2.8.RED007', 'The address of the image is not valid.')
  const job = startUpdate(sim)
  return { status: 202, headers: { location: `${pathsOf(sim.state).tasks}/${job.id}` } }
}

/** Who names an ETag must name the right one; a service of weak ones takes them in their strong form alone. */
function requireMatch(sim: Simulation, path: string, given: string | string[] | undefined): void {
  const etag = etagOf(sim, path)
  if (given === undefined || etag === undefined || given === '*') return
  const wanted = etag.replace(/^W\//, '')
  if (given !== wanted) throw new Refused(412, 'Base.1.12.PreconditionFailed', 'The ETag does not match.')
}

function patch(sim: Simulation, path: string, body: Document, if_match: string | string[] | undefined): Reply {
  const { state } = sim
  const at = pathsOf(state)
  if (path === at.system) {
    requireMatch(sim, path, if_match)
    setBoot(sim, body)
    return { status: 200, body: documentAt(state, path) }
  }
  if (state.profile.bios && path === `${at.system}/Bios/Settings`) {
    requireMatch(sim, path, if_match)
    const { Attributes: attributes, '@Redfish.SettingsApplyTime': apply } = body
    if (typeof attributes !== 'object' || attributes === null)
      throw new Refused(400, 'Base.1.12.PropertyMissing', 'Attributes is missing.')
    const time = typeof apply === 'object' && apply !== null ? String((apply as Document)['ApplyTime']) : undefined
    const job = stageBios(sim, attributes as Record<string, Value>, time)
    return job === null ? { status: 200, body: {} } : { status: 202, headers: { location: `${at.tasks}/${job.id}` } }
  }
  throw new Refused(405, 'Base.1.12.OperationNotAllowed', 'The resource cannot be changed.')
}

function setBoot(sim: Simulation, body: Document): void {
  const boot = body['Boot']
  if (typeof boot !== 'object' || boot === null)
    throw new Refused(400, 'Base.1.12.PropertyUnknown', 'Only Boot can be changed.')
  const {
    BootSourceOverrideTarget: target,
    BootSourceOverrideEnabled: enabled,
    BootSourceOverrideMode: mode,
  } = boot as Document
  if (enabled !== undefined && target === undefined)
    throw new Refused(400, 'Base.1.12.PropertyMissing', 'BootSourceOverrideTarget is missing.')
  const next: Partial<Boot> = {
    ...(typeof target === 'string' ? { target } : {}),
    ...(typeof enabled === 'string' ? { enabled } : {}),
    ...(typeof mode === 'string' ? { mode } : {}),
  }
  Object.assign(sim.state.boot, next)
  sim.changed()
}

function remove(sim: Simulation, path: string): Reply {
  const at = pathsOf(sim.state)
  const id = path.split('/').at(-1) ?? ''
  if (path.startsWith(`${at.sessions}/`)) return { status: sim.state.sessions.delete(id) ? 204 : 404 }
  const of_jobs = [at.tasks, at.jobs, at.job_service_jobs].some((base) => path === `${base}/${id}`)
  if (of_jobs && deleteJob(sim, id)) return { status: 204 }
  throw notFound(path)
}

export function send(response: ServerResponse, method: string, { status, headers = {}, body }: Reply): void {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  response.writeHead(status, {
    'odata-version': '4.0',
    ...(text === '' ? {} : { 'content-type': 'application/json' }),
    'content-length': Buffer.byteLength(text),
    ...lower,
  })
  response.end(method === 'HEAD' ? '' : text)
}

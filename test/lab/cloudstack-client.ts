/** A small signed client for the simulator's own tests; the product's driver is not used here on purpose. */
import { signature } from '../../lab/cloudstack/sign.ts'
import { startCloudStack } from '../../lab/cloudstack/server.ts'
import type { CloudStackLab, CloudStackOptions } from '../../lab/cloudstack/server.ts'

type Fields = Record<string, unknown>

export interface Answer {
  status: number
  wrapper: string
  body: Fields
  description: string | null
}

export interface LabClient {
  lab: CloudStackLab
  /** Sends the command and answers what came, whatever the status. */
  send(command: string, params?: Params, keys?: { api_key: string; secret_key: string }): Promise<Answer>
  /** As `send`, for an answer that must be 200. */
  ok(command: string, params?: Params): Promise<Fields>
  /** The rows of a list, empty when nothing was found. */
  rows(command: string, params?: Params): Promise<Fields[]>
  /** Submits, takes one step, and answers the finished job. */
  job(command: string, params?: Params): Promise<Fields>
  control(method: 'GET' | 'POST', path: string, body?: Fields): Promise<Fields>
}

export type Params = Record<string, string | number | boolean | undefined>

export async function startLab(options: Partial<CloudStackOptions> = {}): Promise<LabClient> {
  return clientOf(await startCloudStack({ time: 'step', ...options }))
}

export function clientOf(lab: CloudStackLab): LabClient {
  const send: LabClient['send'] = async (command, params = {}, keys = lab) => {
    const all = new Map<string, string>([
      ['command', command],
      ['response', 'json'],
      ['apikey', keys.api_key],
    ])
    for (const [name, value] of Object.entries(params)) if (value !== undefined) all.set(name, String(value))
    all.set('signature', signature(all, keys.secret_key, 'hmac-sha1'))
    return read(await fetch(lab.url, { method: 'POST', body: new URLSearchParams([...all]) }))
  }
  const ok: LabClient['ok'] = async (command, params) => {
    const answer = await send(command, params)
    if (answer.status !== 200) throw new Error(`${command}: ${answer.status} ${String(answer.body['errortext'])}`)
    return answer.body
  }
  return {
    lab,
    send,
    ok,
    rows: async (command, params) => {
      const rows = Object.values(await ok(command, params)).find((value) => Array.isArray(value))
      return Array.isArray(rows) ? rows.map(fields) : []
    },
    job: async (command, params) => {
      const { jobid } = await ok(command, params)
      lab.step()
      return ok('queryAsyncJobResult', { jobid: String(jobid) })
    },
    control: async (method, path, body) => {
      const init = method === 'GET' ? { method } : { method, body: JSON.stringify(body ?? {}) }
      return fields(await (await fetch(`${lab.control_url}${path}`, init)).json())
    },
  }
}

export async function read(response: Response): Promise<Answer> {
  const [entry] = Object.entries(fields(await response.json()))
  if (entry === undefined) throw new Error('an answer without a wrapper')
  return {
    status: response.status,
    wrapper: entry[0],
    body: fields(entry[1]),
    description: response.headers.get('x-description'),
  }
}

export function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`not an object: ${JSON.stringify(value)}`)
  return { ...value }
}

/** The text of a failed answer or of a failed job's result. */
export function errorOf(body: Fields): { code: number; text: string } {
  const source = body['jobresult'] === undefined ? body : fields(body['jobresult'])
  return { code: Number(source['errorcode']), text: String(source['errortext']) }
}

// Calls operations: typed by the contract where the page names one, by its table where the operation is chosen at run time.
import type { alerts } from '#src/contract/alerts.ts'
import type { appEvents } from '#src/contract/app-events.ts'
import type { auth } from '#src/contract/auth.ts'
import type { bmcBios } from '#src/contract/bmc/bios.ts'
import type { bmcMachine } from '#src/contract/bmc/machine.ts'
import type { bmcPower } from '#src/contract/bmc/power.ts'
import type { bmcRecords } from '#src/contract/bmc/records.ts'
import type { cameraEvents } from '#src/contract/cam/events.ts'
import type { cameraFaces } from '#src/contract/cam/faces.ts'
import type { camInstance } from '#src/contract/cam/instance.ts'
import type { cameraRecordings } from '#src/contract/cam/recordings.ts'
import type { cameras } from '#src/contract/cam/cameras.ts'
import type { ddiDrift } from '#src/contract/ddi/drift.ts'
import type { publicIps } from '#src/contract/ddi/public-ips.ts'
import type { ha } from '#src/contract/ha/ha.ts'
import type { mtu } from '#src/contract/network/mtu.ts'
import type { CallInput, Result } from '#src/contract/route.ts'
import type { vmDisks } from '#src/contract/compute/disks.ts'
import type { vmInventory } from '#src/contract/compute/inventory.ts'
import type { vmMetrics } from '#src/contract/compute/metrics.ts'
import type { vmMoves, vmSnapshots } from '#src/contract/compute/moves.ts'
import type { vmNics } from '#src/contract/compute/nics.ts'
import type { vmSettings } from '#src/contract/compute/settings.ts'
import type { vms } from '#src/contract/compute/vms.ts'
import type { gpu } from '#src/contract/gpu.ts'
import type { infrastructure } from '#src/contract/infrastructure.ts'
import type { jobs } from '#src/contract/jobs.ts'
import type { kvmPower } from '#src/contract/kvm/power.ts'
import type { discovery } from '#src/contract/discovery.ts'
import type { diskOfferings } from '#src/contract/disk-offerings.ts'
import type { guestNetworks } from '#src/contract/network/guest-networks.ts'
import type { monitoring } from '#src/contract/network/monitoring.ts'
import type { portForwarding } from '#src/contract/network/port-forwarding.ts'
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { nodeHealth } from '#src/contract/nodes/health.ts'
import type { nodeSetup } from '#src/contract/nodes/lifecycle-setup.ts'
import type { nodeNics } from '#src/contract/nodes/nics.ts'
import type { nodeRegistry } from '#src/contract/nodes/registry.ts'
import type { rollback } from '#src/contract/nodes/rollback.ts'
import type { benchmarks } from '#src/contract/storage/benchmark.ts'
import type { hostStorage } from '#src/contract/storage/host.ts'
import type { search } from '#src/contract/search.ts'
import type { tenants } from '#src/contract/tenants.ts'
import type { timeline } from '#src/contract/timeline.ts'
import { csrfToken, sessionEnded } from '../session/session.ts'
import { operationRow } from './contract.ts'

type Known = RoutesOf<
  | typeof alerts
  | typeof appEvents
  | typeof auth
  | typeof benchmarks
  | typeof bmcBios
  | typeof bmcMachine
  | typeof bmcPower
  | typeof bmcRecords
  | typeof cameraEvents
  | typeof cameraFaces
  | typeof cameraRecordings
  | typeof cameras
  | typeof camInstance
  | typeof ddiDrift
  | typeof decommission
  | typeof gpu
  | typeof ha
  | typeof hostStorage
  | typeof infrastructure
  | typeof jobs
  | typeof kvmPower
  | typeof monitoring
  | typeof mtu
  | typeof nodeHealth
  | typeof nodeNics
  | typeof nodeRegistry
  | typeof nodeSetup
  | typeof portForwarding
  | typeof publicIps
  | typeof rollback
  | typeof timeline
  | typeof vmInventory
  | typeof vmMetrics
  | typeof discovery
  | typeof diskOfferings
  | typeof guestNetworks
  | typeof search
  | typeof tenants
  | typeof vmDisks
  | typeof vmMoves
  | typeof vmNics
  | typeof vmSettings
  | typeof vmSnapshots
  | typeof vms
>
/** The routes of all areas together. */
type RoutesOf<A extends { routes: object }> = (A extends unknown ? (routes: A['routes']) => void : never) extends (
  routes: infer All,
) => void
  ? All
  : never

export type KnownOperation = keyof Known
export type Answer<Op extends KnownOperation> = Result<Known[Op]>
export type InputOf<Op extends KnownOperation> = CallInput<Known[Op]>

export interface AnyInput {
  params?: Record<string, unknown> | undefined
  query?: Record<string, unknown> | undefined
  body?: unknown
}

export interface CallOptions {
  signal?: AbortSignal
  /** Two calls with one key are one change. */
  key?: string
  /** Management address of the node that answers. */
  node?: string
}

export interface FieldError {
  path: string
  message: string
}

/** What the service, or the way to it, answered instead of a result. */
export class CallError extends Error {
  readonly status: number
  readonly code: string
  readonly fields: readonly FieldError[]
  readonly request_id: string | null
  constructor(status: number, code: string, message: string, fields: readonly FieldError[], request_id: string | null) {
    super(message)
    Object.assign(this, { name: 'CallError' })
    this.status = status
    this.code = code
    this.fields = fields
    this.request_id = request_id
  }
}

export function call<Op extends KnownOperation>(
  operation: Op,
  input: InputOf<Op>,
  options: CallOptions = {},
): Promise<Answer<Op>> {
  return callAny(operation, input, options) as Promise<Answer<Op>>
}

export async function callAny(operation: string, input: AnyInput, options: CallOptions = {}): Promise<unknown> {
  const { method, effect, takes_key } = operationRow(operation)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (method !== 'GET') headers['x-csrf-token'] = csrfToken()
  if (input.body !== undefined) headers['content-type'] = 'application/json'
  if (takes_key && effect === 'change') headers['idempotency-key'] = options.key ?? crypto.randomUUID()
  if (options.node !== undefined) headers['x-target-node'] = options.node
  const response = await send(addressOf(operation, input), {
    method,
    headers,
    body: input.body === undefined ? null : JSON.stringify(input.body),
    signal: options.signal ?? null,
  })
  const text = await response.text()
  if (response.ok) return text === '' ? null : JSON.parse(text)
  const error = errorOf(response, text)
  if (error.status === 401) sessionEnded(error.message)
  throw error
}

async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new CallError(0, 'NETWORK', 'The service cannot be reached from this browser right now.', [], null)
  }
}

export function addressOf(operation: string, { params = {}, query = {} }: AnyInput): string {
  const path = operationRow(operation).path.replace(/\{(\w+)\*?\}/g, (_all, name: string) =>
    encodeURIComponent(String(params[name] ?? '')),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? path : `${path}?${search}`
}

/** Both forms of errors: problem documents, and the envelope of /ddi. */
function errorOf(response: Response, text: string): CallError {
  const body = parsed(text)
  const say = (name: string): string | undefined => (typeof body[name] === 'string' ? body[name] : undefined)
  const fields = Array.isArray(body.errors) ? (body.errors as FieldError[]) : []
  const message = say('detail') ?? say('message') ?? say('title') ?? `The service answered ${response.status}.`
  return new CallError(response.status, say('code') ?? 'UNKNOWN', message, fields, response.headers.get('x-request-id'))
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

// What tests of the compute areas do again and again: faults of the platform, jobs to their end, events, tenants' tokens.
import assert from 'node:assert/strict'
import type { Lab } from './start-lab.ts'
import { until } from './until.ts'

export const NOBODY = '00000000-0000-4000-8000-000000000000'

/** Asks the control API of the simulated platform. */
export async function control(lab: Lab, path: string, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${lab.platform.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(response.status, 200, await response.text())
}

/** Parameters we sent that the platform does not know; it would ignore them in silence. */
export async function assertNoUnknownParameters(lab: Lab): Promise<void> {
  const answer: unknown = await (await fetch(`${lab.platform.control_url}/unknown-parameters`)).json()
  assert.deepEqual(Object.values(answer as object).flat(), [])
}

/** Parameters of every call of this command so far, oldest first. */
export async function callsOf(lab: Lab, command: string): Promise<Record<string, string>[]> {
  const answer = await (await fetch(`${lab.platform.control_url}/calls`)).json()
  const { calls } = answer as { calls: { command: string; params: Record<string, string> }[] }
  return calls.filter((call) => call.command === command).map((call) => call.params)
}

export interface EndedJob {
  job_status: string
  failure_code: string | null
  failure_reason: string
  failed_step: string
  resource_id: string | null
  steps: { name: string; status: string; error: string }[]
}

/** Lets time pass on the platform until the job has ended. */
export function ended(lab: Lab, job_id: string): Promise<EndedJob> {
  return until(`job ${job_id} ends`, async () => {
    lab.platform.step()
    const { body } = await lab.call('GET', `/jobs/${job_id}`)
    return body.job_status === 'running' ? undefined : body
  })
}

export async function eventOf(
  lab: Lab,
  correlation_id: string,
): Promise<{ status: string; action: string; description: string; resource_uuid: string }> {
  const { body } = await lab.call('POST', '/events/app-events', { page_size: 100 })
  const events: {
    correlation_id: string
    status: string
    action: string
    description: string
    resource_uuid: string
  }[] = body.app_events ?? body.events
  const event = events.find((one) => one.correlation_id === correlation_id)
  assert.ok(event !== undefined, 'the operation has an event')
  return event
}

export async function tokenFor(lab: Lab, role: 'viewer' | 'operator', tenant_id?: string): Promise<string> {
  const name = `t-${role}-${tenant_id ?? 'all'}-${performance.now()}`
  const { body, status, text } = await lab.call('POST', '/auth/tokens', {
    name,
    role,
    ...(tenant_id === undefined ? {} : { tenant_id }),
  })
  assert.ok(status < 300, text)
  return body.token
}

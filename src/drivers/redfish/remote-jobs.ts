// The queue of jobs that a BMC keeps itself: listed newest first, and cleared.
import type { Bmc, Graph } from './bmc.ts'
import { actionOf, membersOf, optional, unsupported } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, linkAt, listAt, numberAt, textAt } from './document.ts'
import { clean, RedfishError } from './redfish-error.ts'

export interface RemoteJob {
  id: string
  path: string
  name: string | null
  state: string | null
  percent: number | null
  message: string | null
  start_time: string | null
}

export type JobSource = 'oem' | 'jobs' | 'tasks' | 'none'

/** Where this BMC has its queue. */
export async function jobSource(
  bmc: Bmc,
  options: ReadOptions = {},
): Promise<{ source: JobSource; path: string | null }> {
  const { root, manager } = await bmc.graph(options)
  const oem = linkAt(manager, 'Links', 'Oem', 'Dell', 'Jobs')
  if (oem !== null) return { source: 'oem', path: oem }
  const jobs = linkAt(await optional(bmc.client, linkAt(root, 'JobService'), options), 'Jobs')
  if (jobs !== null) return { source: 'jobs', path: jobs }
  // Some services have the tasks, but leave the link out.
  const service = await optional(bmc.client, linkAt(root, 'Tasks') ?? '/redfish/v1/TaskService', options)
  const tasks = linkAt(service, 'Tasks')
  return tasks === null ? { source: 'none', path: null } : { source: 'tasks', path: tasks }
}

/** Newest first: ids are made of the time, so the greater number is the newer one, whatever their lengths. */
export async function readRemoteJobs(bmc: Bmc, options: ReadOptions = {}): Promise<RemoteJob[]> {
  const { path } = await jobSource(bmc, options)
  if (path === null) throw unsupported(bmc, 'keeps no jobs')
  const jobs: RemoteJob[] = []
  for (const member of await jobDocuments(bmc, path, options)) jobs.push(remoteJobOf(member.path, member.document))
  return jobs.toSorted(byAge)
}

async function jobDocuments(
  bmc: Bmc,
  path: string,
  options: ReadOptions,
): Promise<{ path: string; document: Document }[]> {
  const collection = await bmc.client.get(path, { ...options, optional: true })
  const expanded = listAt(collection, 'Members').filter((member) => textAt(member, 'Id') !== null)
  if (expanded.length > 0)
    return expanded.map((document) => ({
      path: linkAt(document) ?? `${path}/${textAt(document, 'Id') ?? ''}`,
      document,
    }))
  const found: { path: string; document: Document }[] = []
  for (const member of await membersOf(bmc.client, path, options)) {
    // It may have been forgotten between the list and now.
    const document = await optional(bmc.client, member, options)
    if (Object.keys(document).length > 0) found.push({ path: member, document })
  }
  return found
}

function remoteJobOf(path: string, document: Document): RemoteJob {
  return {
    id: textAt(document, 'Id') ?? path.split('/').at(-1) ?? '',
    path,
    name: textAt(document, 'Name'),
    state: textAt(document, 'JobState') ?? textAt(document, 'TaskState'),
    percent: numberAt(document, 'PercentComplete'),
    message: clean(textAt(document, 'Message')) || null,
    start_time: textAt(document, 'StartTime'),
  }
}

function byAge(a: RemoteJob, b: RemoteJob): number {
  const [one, other] = [numberOf(a.id), numberOf(b.id)]
  if (one !== other) return one > other ? -1 : 1
  return (b.start_time ?? '').localeCompare(a.start_time ?? '')
}

function numberOf(id: string): bigint {
  const digits = id.replaceAll(/\D/g, '')
  return digits === '' ? -1n : BigInt(digits)
}

const ENDED = /^(completed|failed|exception|cancelled|killed|rebootcompleted|rebootfailed|rebootpending)/i

export function isRunning({ state }: RemoteJob): boolean {
  return state !== null && /running|downloading/i.test(state) && !ENDED.test(state)
}

/** Bios jobs, whose pending values go with them. */
export function isBiosJob({ name, state }: RemoteJob): boolean {
  return /bios/i.test(name ?? '') && !ENDED.test(state ?? '')
}

/** Asks the BMC to clear its queue. What resists is found by reading the queue again. */
export async function clearRemoteJobs(bmc: Bmc, how: { force: boolean; signal?: AbortSignal }): Promise<void> {
  const graph = await bmc.graph(how)
  const queue = await queueAction(bmc, graph, how.signal)
  if (queue !== null) {
    await bmc.client.post(queue, { JobID: how.force ? 'JID_CLEARALL_FORCE' : 'JID_CLEARALL' }, how)
    return
  }
  for (const job of await readRemoteJobs(bmc, how)) {
    await bmc.client.delete(job.path, how).catch((error: unknown) => {
      const resists = error instanceof RedfishError && error.status !== undefined && error.status !== 401
      if (!resists) throw error
    })
  }
}

async function queueAction(bmc: Bmc, { manager }: Graph, signal: AbortSignal | undefined): Promise<string | null> {
  const service = linkAt(manager, 'Links', 'Oem', 'Dell', 'DellJobService')
  return actionOf(await optional(bmc.client, service, { signal }), 'DellJobService.DeleteJobQueue')?.target ?? null
}

/** After a forced clear the BMC restarts services, and answers in halves until both are ready. Null: it does not say. */
export async function isLifecycleReady(bmc: Bmc, signal?: AbortSignal): Promise<boolean | null> {
  const { manager } = await bmc.graph({ signal })
  const service = linkAt(manager, 'Links', 'Oem', 'Dell', 'DellLCService')
  const target = actionOf(
    await optional(bmc.client, service, { signal }),
    'DellLCService.GetRemoteServicesAPIStatus',
  )?.target
  if (target === undefined) return null
  const { body } = await bmc.client.post(target, {}, signal === undefined ? {} : { signal })
  const status = typeof body === 'object' && body !== null ? (body as Document) : {}
  return textAt(status, 'LCStatus') === 'Ready' && textAt(status, 'Status') === 'Ready'
}

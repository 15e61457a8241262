// What became of work that a BMC goes on with after its answer: one reading, whatever form the BMC gave it.
import type { Bmc } from './bmc.ts'
import { type Document, isDocument, listAt, numberAt, textAt } from './document.ts'
import { clean, errorOfAnswer, messagesOf } from './redfish-error.ts'

export interface TaskReading {
  state: 'running' | 'succeeded' | 'needs_reset' | 'failed' | 'gone'
  /** The BMC's own word. */
  word: string | null
  percent: number | null
  message: string
  retry_after_s: number | null
}

const DONE = /^(completed|completedok|completedwitherrors|completedwithwarnings)$/i
const FAILED = /^(exception|failed|killed|cancelled|rebootfailed|completedfailed)$/i

/** Throws RedfishError while the BMC gives no answer. A task that is not there any more is `gone`: some are forgotten within seconds. */
export async function readTask(bmc: Bmc, path: string, signal?: AbortSignal): Promise<TaskReading> {
  const answer = await bmc.client.poll(path, { signal, once: true })
  const { status, body, headers } = answer
  const retry = Number(headers['retry-after'])
  const retry_after_s = Number.isFinite(retry) && retry > 0 ? Math.min(retry, 60) : null
  const none = { word: null, percent: null, message: '', retry_after_s }
  if (status === 404 || status === 410) return { ...none, state: 'gone' }
  if (status === 202 && !isDocument(body)) return { ...none, state: 'running' }
  if (status >= 500 || status === 401) throw errorOfAnswer(`GET ${path}`, status, body)
  if (status >= 400) return { ...none, state: 'failed', message: messagesOf(body)[0]?.text ?? '' }
  if (!isDocument(body)) return { ...none, state: 'succeeded' }
  return { ...taskOf(body, status), retry_after_s }
}

function taskOf(body: Document, status: number): Omit<TaskReading, 'retry_after_s'> {
  const word = textAt(body, 'TaskState') ?? textAt(body, 'JobState')
  const percent = numberAt(body, 'PercentComplete')
  const [first] = listAt(body, 'Messages')
  const message = clean(textAt(body, 'Message') ?? (first === undefined ? null : textAt(first, 'Message')))
  const common = { word, percent, message }
  if (word === null) return { ...common, state: status === 202 ? 'running' : 'succeeded' }
  if (DONE.test(word)) return { ...common, state: 'succeeded' }
  if (FAILED.test(word)) return { ...common, state: 'failed' }
  if (/^userintervention$/i.test(word)) return { ...common, state: percent === 100 ? 'needs_reset' : 'running' }
  return { ...common, state: 'running' }
}

/** Id of the job or task that a path names. */
export function idOfPath(path: string): string {
  return path.split('?')[0]?.split('/').filter(Boolean).at(-1) ?? ''
}

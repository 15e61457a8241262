// What a BMC says against a request, and what that means to the caller.
import type { ErrorCode } from '#src/contract/errors.ts'
import { type ErrorMeaning, UpstreamError, type UpstreamErrorOptions } from '#src/kernel/errors.ts'
import { type Document, isDocument, listAt, textAt, textsAt } from './document.ts'

/** What kind of trouble it is, beyond a failure of the connection. */
export type RedfishProblem = 'credentials' | 'pin' | 'unsupported' | 'busy' | 'rejected' | 'address'

export interface RedfishMessage {
  /** Without registry and version: `IDRAC.2.8.RAC0904` is `RAC0904`. */
  id: string
  text: string
  severity: string
  resolution: string
  properties: string[]
}

interface RedfishErrorOptions extends Omit<UpstreamErrorOptions, 'upstream'> {
  problem?: RedfishProblem | undefined
  messages?: readonly RedfishMessage[]
  /** Public sentence, instead of the general one of the code. */
  sentence?: string
}

const CODES: Record<RedfishProblem, ErrorCode> = {
  credentials: 'BMC_CREDENTIALS_REJECTED',
  pin: 'BMC_TLS_PIN_MISMATCH',
  unsupported: 'BMC_UNSUPPORTED',
  busy: 'BMC_JOB_CONFLICT',
  rejected: 'BMC_REJECTED',
  address: 'BMC_ADDRESS_NOT_ALLOWED',
}

export class RedfishError extends UpstreamError {
  readonly problem: RedfishProblem | undefined
  readonly messages: readonly RedfishMessage[]
  readonly #sentence: string | undefined
  constructor({ problem, messages = [], sentence, ...options }: RedfishErrorOptions) {
    super({ upstream: 'BMC', detail: messages.map(({ id, text }) => `${id}: ${text}`).join(' | '), ...options })
    this.name = 'RedfishError'
    this.problem = problem
    this.messages = messages
    this.#sentence = sentence
  }

  override meaning(): ErrorMeaning | undefined {
    if (this.problem === undefined) {
      const code = `BMC_${this.failure.toUpperCase()}` as ErrorCode
      return this.#sentence === undefined ? undefined : { code, message: this.#sentence }
    }
    const [worst] = this.messages
    const hint = this.messages.map(({ id }) => HINTS[id]).find((text) => text !== undefined)
    return {
      code: CODES[this.problem],
      message: hint ?? this.#sentence ?? SENTENCES[this.problem],
      ...(worst === undefined ? {} : { upstream_message: `${worst.text} ${worst.resolution}`.trim() }),
    }
  }
}

const SENTENCES: Record<RedfishProblem, string> = {
  credentials:
    'The BMC refuses user name or password; they are not tried again for 5 minutes. Store the right ones in its record.',
  pin: 'The BMC shows another certificate than the pinned one; nothing was sent. Compare the fingerprint and accept it with the repin call.',
  unsupported: 'This BMC does not have this feature.',
  busy: 'The BMC is busy with a job of its own; wait for its end, or delete the jobs of the BMC.',
  rejected: 'The BMC refused the request.',
  address: 'The address is not in bmc.allowed_networks.',
}

/** What people found out about messages that do not say it themselves. */
const HINTS: Readonly<Record<string, string>> = {
  RAC0904:
    'The BMC cannot fetch the image: check the address as seen from the network of the BMC, name resolution, proxies and routes.',
  SYS446:
    'The BMC could not mount the image: an older mount may still be there, or the address is not reachable for it.',
}

/** Busy for a while: the same request may succeed in seconds. */
const BUSY_IDS: ReadonlySet<string> = new Set(['SYS518', 'RAC0679', 'LC068', 'InvalidOperationForSystemState'])
/** A configuration job holds the BIOS. */
const CONFLICT_IDS: ReadonlySet<string> = new Set(['SYS011', 'RAC057', 'ResourceInUse'])

export function isBusy(error: RedfishError): boolean {
  return error.messages.some(({ id }) => BUSY_IDS.has(id))
}

/** The error of an answer that is no success. `optional`: that the resource is not there means that the feature is not. */
export function errorOfAnswer(
  operation: string,
  status: number,
  body: unknown,
  { optional = false }: { optional?: boolean } = {},
): RedfishError {
  const messages = messagesOf(body)
  return new RedfishError({
    operation,
    failure: 'error',
    status,
    messages,
    problem: problemOf(status, messages, optional),
    retryable: false,
  })
}

function problemOf(status: number, messages: readonly RedfishMessage[], optional: boolean): RedfishProblem | undefined {
  if (status === 401 || status === 403) return 'credentials'
  if (messages.some(({ id }) => BUSY_IDS.has(id) || CONFLICT_IDS.has(id)) || status === 409) return 'busy'
  if (status === 501 || status === 405 || (status === 404 && optional)) return 'unsupported'
  if (status === 400 || status === 412 || status === 415 || status === 422) return 'rejected'
  return undefined
}

const MESSAGES_MOST = 10
const TEXT_MOST = 500
const RANKS = ['OK', 'Warning', 'Critical']

/** The most severe first. Texts of a BMC are untrusted: short, without control characters. */
export function messagesOf(body: unknown): RedfishMessage[] {
  // The emulator answers some errors with a bare text.
  if (typeof body === 'string') return body === '' ? [] : [messageOf({ Message: body })]
  if (!isDocument(body)) return []
  const error = isDocument(body.error) ? body.error : body
  const extended = listAt(error, '@Message.ExtendedInfo')
    .map(messageOf)
    .filter(({ text }) => text !== '')
  if (extended.length > 0) {
    return extended.toSorted((a, b) => RANKS.indexOf(b.severity) - RANKS.indexOf(a.severity)).slice(0, MESSAGES_MOST)
  }
  const text = textAt(error, 'message')
  return text === null ? [] : [messageOf({ Message: text, MessageId: textAt(error, 'code') ?? '' })]
}

function messageOf(entry: Document): RedfishMessage {
  return {
    id: (textAt(entry, 'MessageId') ?? '').split('.').at(-1) ?? '',
    text: clean(textAt(entry, 'Message')),
    severity: textAt(entry, 'MessageSeverity') ?? textAt(entry, 'Severity') ?? '',
    resolution: clean(textAt(entry, 'Resolution')),
    properties: textsAt(entry, 'RelatedProperties').slice(0, MESSAGES_MOST),
  }
}

export function clean(text: string | null): string {
  return (text ?? '')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, TEXT_MOST)
    .toWellFormed()
}

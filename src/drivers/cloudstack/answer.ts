// Opens the platform's envelopes (cloudstack.md 1.4): one wrapper key, then the content or an error.
import type { RawAnswer } from './transport.ts'
import { integerOf, isRaw, type Raw, textOf } from './fields.ts'
import { CloudStackError, NoPlatformError } from './platform-error.ts'

/** The content of the wrapper, whatever its name: exceptions to the naming rule exist. */
export function contentOf(command: string, answer: RawAnswer, sent: Readonly<Record<string, string>> = {}): Raw {
  const content = unwrap(answer.text)
  if (content === undefined) throw new NoPlatformError(command, answer)
  if (answer.status === 200 && content.errorcode === undefined) return content
  throw platformError(command, integerOf(content, 'errorcode') ?? answer.status, content, sent)
}

/** The error of a refused call, or of a failed job, whose result has the same fields. */
export function platformError(
  command: string,
  status: number,
  content: Raw,
  sent: Readonly<Record<string, string>> = {},
): CloudStackError {
  const detail = textOf(content, 'errortext') ?? 'no reason was given'
  return new CloudStackError({
    operation: command,
    failure: status === 503 ? 'unavailable' : 'error',
    status,
    detail,
    cserrorcode: integerOf(content, 'cserrorcode') ?? undefined,
    sent,
    retryable: status === 503 || status === 429,
  })
}

function unwrap(text: string): Raw | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRaw(value)) return undefined
  // The full name is not computed, because exceptions exist; all end alike.
  const wrappers = Object.keys(value).filter((key) => key.endsWith('response'))
  const content = wrappers.length === 1 ? value[wrappers[0] ?? ''] : undefined
  return isRaw(content) ? content : undefined
}

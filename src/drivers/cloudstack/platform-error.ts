// The errors of this driver: what the platform refused, with its own numbers and text for the log and the mapping.
import { type ErrorMeaning, UpstreamError, type UpstreamErrorOptions } from '#src/kernel/errors.ts'
import { meaningOf } from './error-mapping.ts'

type Options = Omit<UpstreamErrorOptions, 'upstream'> & {
  cserrorcode?: number | undefined
  /** The arguments, as they were sent. */
  sent?: Readonly<Record<string, string>>
}

export class CloudStackError extends UpstreamError {
  /** The platform's second error number, finer than the status (cloudstack.md 1.5). */
  readonly cserrorcode: number | undefined
  /** Never logged: it may hold passwords and user data. */
  readonly #sent: Readonly<Record<string, string>>
  constructor({ sent = {}, ...options }: Options) {
    super({ upstream: 'COMPUTE', ...options })
    this.name = 'CloudStackError'
    this.cserrorcode = options.cserrorcode
    this.#sent = sent
  }

  override meaning(tenant_id: string | null): ErrorMeaning | undefined {
    const { operation, status, cserrorcode, failure } = this
    if (status === undefined || failure !== 'error') return undefined
    return meaningOf({ operation, status, cserrorcode, text: this.detail ?? '', sent: this.#sent }, tenant_id)
  }
}

/**
 * What came back is not from the platform: a page of a proxy before it, or of another program. Below 500 the call was turned
 * away there. Else the platform may have done what was asked, so the error has no status, as when no answer came
 * (kernel/lost-answers.ts).
 */
export class NoPlatformError extends CloudStackError {
  constructor(command: string, { status, text }: { status: number; text: string }) {
    const gateway = status >= 502 && status <= 504
    super({
      operation: command,
      failure: status === 504 ? 'timeout' : gateway ? 'unavailable' : 'error',
      ...(status >= 400 && status < 500 ? { status } : {}),
      detail: `the answer is not one of the platform (status ${status}): ${text.slice(0, 300)}`,
      retryable: gateway,
    })
    this.name = 'NoPlatformError'
  }

  override meaning(): ErrorMeaning | undefined {
    return this.failure === 'error' ? { code: 'COMPUTE_ERROR', message: ELSEWHERE } : undefined
  }
}

const ELSEWHERE =
  'What answers at the address of the compute platform is not the platform; operators of this service must check compute.url and what stands before it.'

/** Nobody on the platform knows this job: it was never queued, or is older than what the platform keeps. */
export class UnknownJobError extends CloudStackError {
  constructor(job_id: string) {
    super({ operation: 'queryAsyncJobResult', failure: 'error', status: 431, detail: `unknown job ${job_id}` })
    this.name = 'UnknownJobError'
  }

  override meaning(): ErrorMeaning {
    return WITHOUT_OUTCOME
  }
}

/** The platform ended the job without an outcome: it was cancelled, or the platform restarted (cloudstack.md 2). */
export class LostJobError extends CloudStackError {
  constructor(command: string, detail: string) {
    super({ operation: command, failure: 'error', status: 530, detail })
    this.name = 'LostJobError'
  }

  override meaning(): ErrorMeaning {
    return WITHOUT_OUTCOME
  }
}

const WITHOUT_OUTCOME: ErrorMeaning = {
  code: 'JOB_INTERRUPTED',
  message: 'The compute platform ended the operation without an outcome; look at the resource before you repeat it.',
}

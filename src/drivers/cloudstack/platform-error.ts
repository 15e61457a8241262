// The errors of this driver: what the platform refused, with its own number and text for the log and the mapping.
import { UpstreamError, type UpstreamErrorOptions } from '#src/kernel/errors.ts'

type Options = Omit<UpstreamErrorOptions, 'upstream'> & { cserrorcode?: number | undefined; about?: string | undefined }

export class CloudStackError extends UpstreamError {
  /** The platform's second error number, finer than the status (cloudstack.md 1.5). */
  readonly cserrorcode: number | undefined
  /** The parameter that the text complains about, in the platform's spelling. */
  readonly about: string | undefined
  constructor(options: Options) {
    super({ upstream: 'COMPUTE', ...options })
    this.name = 'CloudStackError'
    this.cserrorcode = options.cserrorcode
    this.about = options.about
  }
}

/** Nobody on the platform knows this job: it was never queued, or is older than what the platform keeps. */
export class UnknownJobError extends CloudStackError {
  constructor(job_id: string) {
    super({ operation: 'queryAsyncJobResult', failure: 'error', status: 431, detail: `unknown job ${job_id}` })
    this.name = 'UnknownJobError'
  }
}

/** The platform ended the job without an outcome: it was cancelled, or the platform restarted (cloudstack.md 2). */
export class LostJobError extends CloudStackError {
  constructor(command: string, detail: string) {
    super({ operation: command, failure: 'error', status: 530, detail })
    this.name = 'LostJobError'
  }
}

// What a remote KVM says against a request, and what that means to the caller.
import type { ErrorCode } from '#src/contract/errors.ts'
import { type ErrorMeaning, UpstreamError, type UpstreamErrorOptions } from '#src/kernel/errors.ts'

/** What kind of trouble it is, beyond a failure of the connection. */
export type PikvmProblem = 'credentials' | 'pin' | 'busy' | 'rejected' | 'address'

interface PikvmErrorOptions extends Omit<UpstreamErrorOptions, 'upstream'> {
  problem?: PikvmProblem | undefined
  /** Class name of the device's own error: `MsdImageExistsError`. */
  device_error?: string | undefined
  /** Public sentence, instead of the general one of the code. */
  sentence?: string
}

const CODES: Record<PikvmProblem, ErrorCode> = {
  credentials: 'KVM_CREDENTIALS_REJECTED',
  pin: 'KVM_TLS_PIN_MISMATCH',
  busy: 'KVM_BUSY',
  rejected: 'KVM_REJECTED',
  address: 'BMC_ADDRESS_NOT_ALLOWED',
}

const SENTENCES: Record<PikvmProblem, string> = {
  credentials: 'The KVM refuses user name or password; store the right ones in its record.',
  pin: 'The KVM shows another certificate than the pinned one; nothing was sent. Compare the fingerprint and accept it with the repin call.',
  busy: 'The KVM is busy with another operation; try again when it has ended.',
  rejected: 'The KVM refused the request.',
  address: 'The address is not in bmc.allowed_networks.',
}

export class PikvmError extends UpstreamError {
  readonly problem: PikvmProblem | undefined
  readonly device_error: string | undefined
  readonly #sentence: string | undefined
  constructor({ problem, device_error, sentence, ...options }: PikvmErrorOptions) {
    super({ upstream: 'KVM', ...options })
    this.name = 'PikvmError'
    this.problem = problem
    this.device_error = device_error
    this.#sentence = sentence
  }

  override meaning(): ErrorMeaning | undefined {
    if (this.problem === undefined) {
      const code = `KVM_${this.failure.toUpperCase()}` as ErrorCode
      return this.#sentence === undefined ? undefined : { code, message: this.#sentence }
    }
    const hint = this.device_error === undefined ? undefined : HINTS[this.device_error]
    return {
      code: CODES[this.problem],
      message: hint ?? this.#sentence ?? SENTENCES[this.problem],
      ...(this.detail === undefined || this.detail === '' ? {} : { upstream_message: this.detail }),
    }
  }
}

const HINTS: Readonly<Record<string, string>> = {
  MsdDisabledError: 'The mass storage of the KVM is disabled; enable it in the configuration of the device.',
  MsdOfflineError: 'The mass storage of the KVM is offline: check its cable to the server and its memory card.',
  MsdConnectedError: 'An image is connected to the server already; disconnect it first.',
  AtxDisabledError: 'The KVM is not wired to the power buttons of the server (ATX is disabled).',
}

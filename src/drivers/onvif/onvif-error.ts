// How a camera fails to be probed, and what that means to the caller (Part 1, 4.1).
import type { ErrorCode } from '#src/contract/errors.ts'
import { type ErrorMeaning, UpstreamError } from '#src/kernel/errors.ts'

export type OnvifFailure = 'credentials' | 'unsupported' | 'unreachable'

interface Options {
  ip: string
  operation: string
  reason: OnvifFailure
  /** For the log: never holds a login. */
  detail: string
  status?: number
  cause?: unknown
}

const CODES: Record<OnvifFailure, ErrorCode> = {
  credentials: 'CAM_ONVIF_CREDS_REJECTED',
  unsupported: 'CAM_ONVIF_UNSUPPORTED',
  unreachable: 'CAM_ONVIF_UNREACHABLE',
}

const SENTENCES: Record<OnvifFailure, (ip: string) => string> = {
  credentials: (ip) =>
    `Camera ${ip} rejected the user name or the password. Check both, and that the account may use ONVIF; many cameras lock it after a few attempts.`,
  unsupported: (ip) =>
    `Camera ${ip} answers, but offers no video by ONVIF Profile S. Switch ONVIF on in the camera, or give main_stream_url instead of probing.`,
  unreachable: (ip) =>
    `Camera ${ip} did not answer ONVIF requests. Check the address, that the camera is on, and that this service may reach it.`,
}

export class OnvifError extends UpstreamError {
  readonly reason: OnvifFailure
  readonly ip: string
  constructor({ ip, operation, reason, detail, status, cause }: Options) {
    super({
      upstream: 'NVR',
      operation: `camera ${operation}`,
      failure: reason === 'unreachable' ? 'unavailable' : 'error',
      detail,
      ...(status === undefined ? {} : { status }),
      ...(cause === undefined ? {} : { cause }),
    })
    this.name = 'OnvifError'
    this.reason = reason
    this.ip = ip
  }

  override meaning(): ErrorMeaning {
    return { code: CODES[this.reason], message: SENTENCES[this.reason](this.ip) }
  }
}

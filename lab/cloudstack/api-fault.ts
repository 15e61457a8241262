/** The platform's way to say no: its own error numbers, in the HTTP status or in a job's result. */

export class ApiFault extends Error {
  override readonly name = 'ApiFault'
  readonly code: number
  readonly cserrorcode: number | null
  readonly uuids: { uuid: string; description: string }[]

  constructor(
    code: number,
    text: string,
    cserrorcode: number | null = 9999,
    uuids: { uuid: string; description: string }[] = [],
  ) {
    super(text)
    this.code = code
    this.cserrorcode = cserrorcode
    this.uuids = uuids
  }
}

/** A parameter that is missing, unknown or of the wrong form: the platform gives no number of its own to these. */
export const badParameter = (text: string): ApiFault => new ApiFault(431, text)
export const invalid = (text: string, ...uuids: { uuid: string; description: string }[]): ApiFault =>
  new ApiFault(431, text, 4350, uuids)
export const internal = (text: string): ApiFault => new ApiFault(530, text, 4250)
export const denied = (text: string): ApiFault => new ApiFault(531, text, 4365)
export const noCapacity = (text: string): ApiFault => new ApiFault(533, text, 4335)
export const unavailable = (text: string): ApiFault => new ApiFault(534, text, 4380)
export const overQuota = (text: string): ApiFault => new ApiFault(535, text)
export const ruleConflict = (text: string): ApiFault => new ApiFault(537, text, 4360)

/** Bad signature, expired request, unknown key, locked account and unknown command all read the same. */
export const unverified = (): ApiFault =>
  new ApiFault(401, 'unable to verify user credentials and/or request signature', null)

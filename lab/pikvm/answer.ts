/** Answers of a simulated KVM in its envelope. */
export interface Reply {
  status: number
  result: unknown
  /** Instead of the envelope. */
  bytes?: Buffer
}

export const ok = (result: unknown = {}): Reply => ({ status: 200, result })

/** Thrown wherever a request is refused. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  readonly error: string
  constructor(status: number, error: string, text: string) {
    super(text)
    this.status = status
    this.error = error
  }
}

export const invalid = (text: string): Refused => new Refused(400, 'ValidatorError', text)

export function textOf(query: URLSearchParams, name: string): string {
  const value = query.get(name)
  if (value === null) throw invalid(`The argument ${name} is missing`)
  return value
}

/** As the device reads flags. */
export function flagOf(query: URLSearchParams, name: string, otherwise: boolean): boolean {
  const value = query.get(name)
  if (value === null) return otherwise
  if (/^(1|true|yes)$/i.test(value)) return true
  if (/^(0|false|no)$/i.test(value)) return false
  throw invalid(`The argument ${name} is no boolean`)
}

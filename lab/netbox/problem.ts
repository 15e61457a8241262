/** What the simulated NetBox says no with: a status and a body in one of its many forms. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly body: unknown
  constructor(status: number, body: unknown) {
    super(`${status}`)
    this.status = status
    this.body = body
  }
}

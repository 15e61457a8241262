// The one error of the embedded database; it always tells the way out.

export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'

  constructor(problem: string, options?: ErrorOptions) {
    super(`${problem} (to use a PostgreSQL of your own instead, set DATABASE_URL)`, options)
  }
}

export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

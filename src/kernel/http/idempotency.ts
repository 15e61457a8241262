// What the server needs of a store of idempotent answers (api-conventions.md, Changes).

export interface StoredAnswer {
  status: number
  headers: Record<string, string>
  body: unknown
}

export interface IdempotentRequest {
  caller_id: string
  key: string
  operation: string
  /** Everything that makes two requests the same, as text; it may hold secrets. */
  request: string
  operation_id: string
  signal: AbortSignal
}

export interface Idempotency {
  /**
   * Runs `work` for the first request with this key; the others get its stored answer, waiting for it when needed. When
   * the process of the first has died after it admitted a job, `work` gets the id of that operation and answers for it.
   */
  run(
    request: IdempotentRequest,
    work: (admitted?: string) => Promise<StoredAnswer>,
  ): Promise<{ answer: StoredAnswer; replayed: boolean }>
}

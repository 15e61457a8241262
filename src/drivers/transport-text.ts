// What drivers that speak HTTP read of an exchange that went wrong.

/** Why there is no answer, for the log: the code of the network (`ECONNREFUSED`), else what the error says. */
export function connectionReason(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed'
  const code: unknown = 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : error.message
}

/** Undefined for what is no JSON: the page of a proxy, half an answer. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

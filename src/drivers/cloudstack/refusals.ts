// Passing names of the error mapping, for callers that still map by themselves.
import { mapUpstreamError, UpstreamError } from '#src/kernel/errors.ts'

export function refusalOf(error: unknown): unknown {
  return error instanceof UpstreamError ? mapUpstreamError(error, null) : error
}

export async function orRefusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw refusalOf(error)
  }
}

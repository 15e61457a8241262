// Answers of read operations, cached by [operation, input]. Nothing asks again by a clock: the stream says what has changed.
import { type QueryKey, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { type Answer, call, CallError, type InputOf, type KnownOperation } from './call.ts'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      // The stream's return asks again for what is on the screen.
      retry: (count, error) => count < 2 && error instanceof CallError && error.status === 429,
      networkMode: 'always',
    },
  },
})

export function useCall<Op extends KnownOperation>(
  operation: Op,
  input: InputOf<Op>,
  enabled = true,
): UseQueryResult<Answer<Op>> {
  return useQuery({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, { signal }),
    enabled,
  })
}

/** Of an operation that a node answers; nothing is asked while the address of the node is not known. */
export function useNodeCall<Op extends KnownOperation>(
  operation: Op,
  node: string | null,
  input: InputOf<Op> = {},
): UseQueryResult<Answer<Op>> {
  return useQuery({
    queryKey: [operation, input, node],
    queryFn: ({ signal }) => call(operation, input, { signal, node: node ?? '' }),
    enabled: node !== null,
  })
}

export function operationOf(key: QueryKey): string {
  return String(key[0])
}

// Schemas and descriptions of an operation, once they are there.
import { useEffect, useState } from 'react'
import { operationDetails } from './contract.ts'
import type { OperationDetails } from './contract-types.ts'

export function useDetails(operation: string): { details: OperationDetails | undefined; error: unknown } {
  const [found, setFound] = useState<{ operation: string; details?: OperationDetails; error?: unknown }>()
  useEffect(() => {
    let stale = false
    operationDetails(operation).then(
      (details) => stale || setFound({ operation, details }),
      (error: unknown) => stale || setFound({ operation, error }),
    )
    return () => {
      stale = true
    }
  }, [operation])
  const now = found?.operation === operation ? found : undefined
  return { details: now?.details, error: now?.error }
}

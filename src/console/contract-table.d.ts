declare module 'contract:table' {
  import type { OperationRow } from './api/contract-types.ts'
  const table: Record<string, OperationRow>
  export default table
}
declare module '*.css'

// What the build tells the console about the contract (src/modules/console/contract-table.ts writes it).

export interface OperationRow {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  summary: string
  access: 'viewer' | 'operator' | 'admin'
  tenant: 'own' | 'none'
  effect: 'read' | 'change'
  area: string
  /** Name of the list in the answer, where it is one. */
  list: string | null
  /** How the list pages: by number, or not at all. */
  paged: boolean
  /** What the service can sort it by. */
  sorts: string[]
  /** Parts of the path and required ids of the body. */
  ids: string[]
  /** Answered by a node itself: the call names the node. */
  on_node: boolean
  takes_key: boolean
  resource_type: string | null
}

/** The part of JSON Schema that the contract uses. */
export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  enum?: (string | null)[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  default?: unknown
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  'x-secret'?: boolean
}

export interface OperationDetails {
  description: string
  area_description: string
  params: Schema | null
  query: Schema | null
  body: Schema | null
  /** Of a list: its rows. */
  item: Schema | null
  /** How the command of groundplane is written. */
  command: { words: string; fields: readonly { at: string; option: string | null }[] }
  example: { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown }
}

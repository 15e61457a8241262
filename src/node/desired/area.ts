// What an area of desired state is to the operations, whatever brings it about.
import type { TSchema } from 'typebox'

export interface AreaState {
  /** Of the document that was ordered last; null: none. */
  hash: string | null
  /** Null until everything of the document was done once. */
  applied_at: string | null
  /** A sentence each. */
  differences: string[]
  pending: { hash: string | null; left_ms: number } | null
}

export interface ApplyOptions {
  hash: string
  guard_seconds?: number | undefined
}

export interface DesiredArea {
  schema: TSchema
  state(): Promise<AreaState>
  /** `document` fits the schema. Throws before anything is touched when it cannot be. The answer: one sentence. */
  apply(document: unknown, options: ApplyOptions): Promise<string>
  remove(options: { guard_seconds?: number | undefined }): Promise<string>
  /** Only of areas that revert by themselves. */
  confirm?(hash: string | null): Promise<void>
}

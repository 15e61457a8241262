// Every record of a node with the sources that its collectors declare.
import type { FieldSource } from '#src/node/field-source.ts'

export const nodeSources: readonly { record: string; sources: readonly FieldSource[] }[] = []

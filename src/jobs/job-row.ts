// Rows of the ledger.
import type { Selectable } from 'kysely'
import type { Tables } from '#src/store/tables.ts'

export type JobRow = Selectable<Tables['job']>
export type StepRow = Selectable<Tables['job_step']>

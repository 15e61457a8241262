// Jobs as callers see them. The engine that runs them is src/jobs.
import { jobs } from '#src/contract/jobs.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { jobHandlers } from './handlers.ts'

export function jobsModule(parts: Parts): Module {
  return { areas: [serve(jobs, jobHandlers({ db: parts.database.db, jobs: parts.jobs }))] }
}

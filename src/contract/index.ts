// The areas of the API: what exists. The only re-export of the project.
import { appEvents } from './app-events.ts'
import { auth } from './auth.ts'
import { jobs } from './jobs.ts'
import type { Area } from './route.ts'
import { service } from './service.ts'

export const areas = [service, auth, appEvents, jobs] as unknown as readonly Area[]

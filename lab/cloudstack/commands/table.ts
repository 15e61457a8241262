/** Every command the simulator answers. */
import type { Commands } from '../call.ts'
import { alerts } from './alerts.ts'
import { capacity } from './capacity.ts'
import { events } from './events.ts'
import { infrastructure } from './infrastructure.ts'
import { jobs } from './jobs.ts'
import { metrics } from './metrics.ts'
import { networks } from './networks.ts'
import { offerings } from './offerings.ts'
import { templates } from './templates.ts'
import { vmDeploy } from './vm-deploy.ts'
import { vmPower } from './vm-power.ts'
import { vms } from './vms.ts'
import { webhooks } from './webhooks.ts'

export const COMMANDS: Commands = {
  ...alerts, ...capacity, ...events, ...infrastructure, ...jobs, ...metrics, ...networks, ...offerings, ...templates, ...vmDeploy, ...vmPower, ...vms, ...webhooks,
}

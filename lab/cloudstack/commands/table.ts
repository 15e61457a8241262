/** Every command the simulator answers. */
import type { Commands } from '../call.ts'
import { addresses } from './addresses.ts'
import { alerts } from './alerts.ts'
import { capacity } from './capacity.ts'
import { copies } from './copies.ts'
import { events } from './events.ts'
import { firewall } from './firewall.ts'
import { forwarding } from './forwarding.ts'
import { gpu } from './gpu.ts'
import { groups } from './groups.ts'
import { hosts } from './hosts.ts'
import { imports } from './imports.ts'
import { infrastructure } from './infrastructure.ts'
import { jobs } from './jobs.ts'
import { keyPairs } from './key-pairs.ts'
import { limits } from './limits.ts'
import { loadBalancers } from './load-balancers.ts'
import { metrics } from './metrics.ts'
import { networks } from './networks.ts'
import { nics } from './nics.ts'
import { offerings } from './offerings.ts'
import { providers } from './providers.ts'
import { templates } from './templates.ts'
import { tenants } from './tenants.ts'
import { vmDeploy } from './vm-deploy.ts'
import { vmPower } from './vm-power.ts'
import { vms } from './vms.ts'
import { volumes } from './volumes.ts'
import { vpcs } from './vpcs.ts'
import { webhooks } from './webhooks.ts'

export const COMMANDS: Commands = {
  ...addresses,
  ...alerts,
  ...capacity,
  ...copies,
  ...events,
  ...firewall,
  ...forwarding,
  ...gpu,
  ...groups,
  ...hosts,
  ...imports,
  ...infrastructure,
  ...jobs,
  ...keyPairs,
  ...limits,
  ...loadBalancers,
  ...metrics,
  ...networks,
  ...nics,
  ...offerings,
  ...providers,
  ...templates,
  ...tenants,
  ...vmDeploy,
  ...vmPower,
  ...vms,
  ...volumes,
  ...vpcs,
  ...webhooks,
}

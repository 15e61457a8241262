// The service itself: health, readiness, metrics, and the published document.
import { service } from '#src/contract/service.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Background } from '#src/kernel/background.ts'
import { type Check, type Module, type Parts, serve } from '../module.ts'
import { createAddressChecks } from './address-checks.ts'
import { serviceHandlers } from './handlers.ts'
import { createReferencePage } from './reference-page.ts'

export function serviceModule(parts: Parts): Module {
  const addresses = createAddressChecks(parts)
  const subsystems = async () => [
    ...subsystemChecks(parts.cloudstack),
    ...(await addresses()),
    ...failingTasks(parts.background),
  ]
  return { areas: [serve(service, serviceHandlers({ ...parts, page: createReferencePage(), subsystems }))] }
}

function subsystemChecks(cloudstack: CloudStack): Check[] {
  if (!cloudstack.configured) return [{ name: 'compute', ok: false, detail: 'not configured (compute.url)' }]
  const open = cloudstack.state() === 'open'
  return [{ name: 'compute', ok: !open, detail: open ? 'does not answer' : 'in use' }]
}

function failingTasks(background: Background): Check[] {
  return background.failing().map(({ task, failures }) => ({
    name: `background ${task}`,
    ok: false,
    detail: `failed ${failures} times in a row`,
  }))
}

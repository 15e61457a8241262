// The operations that only read from a BMC.
import type { bmcBios, BiosOption } from '#src/contract/bmc/bios.ts'
import type { bmcMachine } from '#src/contract/bmc/machine.ts'
import type { bmcPower } from '#src/contract/bmc/power.ts'
import type { Input, Output } from '#src/contract/route.ts'
import { attributeWith } from '#src/drivers/redfish/bios-registry.ts'
import { type BiosReading, readBios } from '#src/drivers/redfish/bios.ts'
import { readPower, readResetTypes } from '#src/drivers/redfish/power.ts'
import { readRemoteJobs } from '#src/drivers/redfish/remote-jobs.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { BmcAccess, BmcOrder } from '../bmc-access.ts'
import { type BmcDeps, orderOf } from './bmc-call.ts'

type PowerRoutes = (typeof bmcPower)['routes']
type BiosRoutes = (typeof bmcBios)['routes']
type MachineRoutes = (typeof bmcMachine)['routes']

/** Of the machine’s own jobs the documents show no more. */
const JOBS_SHOWN = 5

const WATCH_TIMEOUT_MS = 15_000

/** For those who watch. */
export function powerReader(bmcs: Pick<BmcAccess, 'open'>) {
  return async (order: BmcOrder) => {
    const bmc = await bmcs.open(order)
    return async () => {
      const { power_on, power_state } = await readPower(bmc, { once: true, timeout_ms: WATCH_TIMEOUT_MS })
      return { power_on, power_state }
    }
  }
}

export function bmcPowerGet({ bmcs }: BmcDeps) {
  return async (
    { body }: Input<PowerRoutes['bmcPowerGet']>,
    ctx: RequestContext,
  ): Promise<Output<PowerRoutes['bmcPowerGet']>> => {
    const bmc = await bmcs.open(orderOf(body, ctx))
    const { power_state, power_on } = await readPower(bmc, { signal: ctx.signal })
    const options = body.include_options === true ? await readResetTypes(bmc, { signal: ctx.signal }) : undefined
    return {
      power_state,
      power_on,
      status: power_state === null ? 'unknown' : 'ok',
      message: sentenceOf(power_state),
      ...(options === undefined ? {} : { power_options: options.types }),
      observed_at: new Date().toISOString(),
    }
  }
}

function sentenceOf(power_state: string | null): string {
  if (power_state === null) return 'The BMC does not say whether the machine is on.'
  if (power_state === 'On' || power_state === 'Off') return `The machine is ${power_state.toLowerCase()}.`
  return `The BMC says ${power_state}.`
}

export function bmcBiosGet({ bmcs }: BmcDeps) {
  return async (
    { body }: Input<BiosRoutes['bmcBiosGet']>,
    ctx: RequestContext,
  ): Promise<Output<BiosRoutes['bmcBiosGet']>> => {
    const bmc = await bmcs.open(orderOf(body, ctx))
    const reading = await readBios(bmc, { signal: ctx.signal, with_registry: true })
    const hidden = body.include_hidden === true
    return {
      bios_options: Object.keys(reading.current).flatMap((name) => optionOf(reading, name, hidden) ?? []),
      bios_settings: { ...reading.current },
      registry: reading.registry?.id ?? null,
    }
  }
}

function optionOf(
  { registry, current, pending }: BiosReading,
  key: string,
  with_hidden: boolean,
): BiosOption | undefined {
  const attribute = registry === null ? undefined : attributeWith(registry, key, current)
  if (attribute?.hidden === true && !with_hidden) return undefined
  const secret = attribute?.type === 'Password'
  return {
    key,
    attribute_name: attribute?.display_name ?? key,
    current_value: secret ? '' : (current[key] ?? null),
    pending_value: secret ? null : (pending[key] ?? null),
    description: attribute?.description ?? '',
    allowed_values: attribute?.values ?? [],
    type: attribute?.type ?? 'unknown',
    read_only: attribute?.read_only ?? false,
    lower_bound: attribute?.lower_bound ?? null,
    upper_bound: attribute?.upper_bound ?? null,
    menu_path: attribute?.menu_path ?? '',
  }
}

export function bmcBiosPendingGet({ bmcs }: BmcDeps) {
  return async ({ body }: Input<BiosRoutes['bmcBiosPendingGet']>, ctx: RequestContext) => {
    const bmc = await bmcs.open(orderOf(body, ctx))
    const { pending } = await readBios(bmc, { signal: ctx.signal })
    return { attributes: { ...pending } }
  }
}

export function bmcJobsList({ bmcs }: BmcDeps) {
  return async ({ body }: Input<MachineRoutes['bmcJobsList']>, ctx: RequestContext) => {
    const bmc = await bmcs.open(orderOf(body, ctx))
    const jobs = (await readRemoteJobs(bmc, { signal: ctx.signal })).slice(0, JOBS_SHOWN)
    const details = jobs.map(({ path: _path, ...job }) => job)
    return { jobs: jobs.map(({ id }) => id), ...(body.detail === true ? { details } : {}) }
  }
}

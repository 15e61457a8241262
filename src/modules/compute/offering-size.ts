// What a service or disk offering says of sizes: fixed, or chosen within ranges. The platform would refuse without its name.
import type { VmProvision } from '#src/contract/compute/vm-provision.ts'
import { flagOf, mapOf, numberOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { invalidField } from '#src/kernel/errors.ts'

export const SIZE_FIELDS = ['cpu_cores', 'memory_mb', 'cpu_speed_mhz'] as const

/** The size of a new machine: all of it where the offering leaves it open, nothing where it does not. */
export function requireSize(body: VmProvision, offering: Raw): void {
  const name = `service offering ${textOf(offering, 'name')}`
  const fixed_speed = numberOf(offering, 'cpuspeed') !== null
  for (const field of SIZE_FIELDS) {
    const open = flagOf(offering, 'iscustomized') === true && !(field === 'cpu_speed_mhz' && fixed_speed)
    if (open && body[field] === undefined)
      throw invalidField(`body.${field}`, `is needed: ${name} leaves the size open`)
    if (!open && body[field] !== undefined)
      throw invalidField(`body.${field}`, `cannot be ${body[field]}: ${name} fixes it; leave it out`)
  }
  requireRanges(offering, body)
}

/** Within what a constrained offering allows. */
export function requireRanges(
  offering: Raw,
  { cpu_cores, memory_mb }: { cpu_cores?: number | null | undefined; memory_mb?: number | null | undefined },
): void {
  const limits = mapOf(offering, 'serviceofferingdetails')
  const name = textOf(offering, 'name')
  for (const [field, value, least, most] of [
    ['cpu_cores', cpu_cores, numberOf(limits, 'mincpunumber'), numberOf(limits, 'maxcpunumber')],
    ['memory_mb', memory_mb, numberOf(limits, 'minmemory'), numberOf(limits, 'maxmemory')],
  ] as const) {
    if (value === undefined || value === null) continue
    if ((least !== null && value < least) || (most !== null && value > most))
      throw invalidField(
        `body.${field}`,
        `${value} is outside of ${least ?? 1} to ${most ?? 'any'}, the range of service offering ${name}`,
      )
  }
}

/** The size of a new disk: `field` is needed where the offering leaves it open, and refused where it does not. */
export function requireDiskSize(field: string, size_gb: number | undefined, offering: Raw): void {
  const name = textOf(offering, 'name')
  const open = flagOf(offering, 'iscustomized') === true
  if (open && size_gb === undefined)
    throw invalidField(`body.${field}`, `is needed: disk offering ${name} leaves the size open`)
  if (!open && size_gb !== undefined)
    throw invalidField(
      `body.${field}`,
      `cannot be ${size_gb}: disk offering ${name} is of ${numberOf(offering, 'disksize')} GiB; leave it out`,
    )
}

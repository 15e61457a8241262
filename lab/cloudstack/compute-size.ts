/** CPU and memory of a machine from its offering: fixed, or chosen within the offering's ranges. */
import { invalid } from './api-fault.ts'
import type { ServiceOffering } from './records.ts'

export interface ComputeSize {
  cpunumber: number
  cpuspeed: number
  memory: number
}

export function resolveCompute(
  offering: ServiceOffering,
  details: Readonly<Record<string, string>>,
  current: ComputeSize | null,
): ComputeSize {
  if (!offering.iscustomized) return fixedSize(offering, details)
  const cpunumber = chosen(
    details['cpuNumber'],
    current?.cpunumber ?? null,
    'cpu cores',
    offering.mincpunumber,
    offering.maxcpunumber,
  )
  const memory = chosen(details['memory'], current?.memory ?? null, 'memory', offering.minmemory, offering.maxmemory)
  const speed = details['cpuSpeed']
  if (speed !== undefined && offering.cpuspeed !== null)
    throw invalid('The CPU speed of this offering is fixed and cannot be specified')
  const cpuspeed = offering.cpuspeed ?? chosen(speed, current?.cpuspeed ?? null, 'cpu speed', null, null)
  return { cpunumber, cpuspeed, memory }
}

function fixedSize(offering: ServiceOffering, details: Readonly<Record<string, string>>): ComputeSize {
  if (['cpuNumber', 'cpuSpeed', 'memory'].some((name) => details[name] !== undefined))
    throw invalid('cpuNumber or cpuSpeed or memory should not be specified for static service offering')
  return { cpunumber: offering.cpunumber ?? 1, cpuspeed: offering.cpuspeed ?? 1000, memory: offering.memory ?? 512 }
}

function chosen(
  given: string | undefined,
  current: number | null,
  name: string,
  min: number | null,
  max: number | null,
): number {
  const value = given === undefined ? current : Number(given)
  if (
    value === null ||
    !Number.isInteger(value) ||
    value <= 0 ||
    (min !== null && value < min) ||
    (max !== null && value > max)
  ) {
    throw invalid(`Invalid ${name} value, specify a value between ${min ?? 1} and ${max ?? 2_147_483_647}`)
  }
  return value
}

// What the NVR needs of the compute platform: a network, offerings that fit, its template, and the state of its machine.
import type { CamInstanceRow } from '#src/store/cam-instance.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, mapOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'

type CamConfig = Config['cam']
export type NvrSize = Pick<CamInstanceRow, 'cores' | 'memory_mb' | 'gpu_count' | 'vgpu_profile_id'>

/** The zone of the network, which is that of the machine. */
export async function zoneOfNetwork(cloudstack: CloudStack, id: string, signal: AbortSignal): Promise<string> {
  const network = await findOne(cloudstack, 'listNetworks', 'network', { id, ...WHOLE_SCOPE }, { signal })
  const zone_id = network === undefined ? null : textOf(network, 'zoneid')
  if (zone_id === null) throw new ApiError('NETWORK_NOT_FOUND', `There is no guest network ${id}.`)
  return zone_id
}

export interface NvrOfferings {
  service_offering_id: string
  /** The size has to be said with the offering. */
  customized: boolean
  disk_offering_id: string
}

/** Throws SERVICE_OFFERING_NOT_FOUND or DISK_OFFERING_NOT_FOUND, saying what to make. */
export async function offeringsFor(
  cloudstack: CloudStack,
  size: NvrSize,
  config: CamConfig,
  signal: AbortSignal,
): Promise<NvrOfferings> {
  const services = await listed(cloudstack, 'listServiceOfferings', 'serviceoffering', signal)
  const fitting = services.filter((offering) => fits(offering, size))
  const wanted = config.service_offering_id
  const service = fitting.find((offering) =>
    wanted === undefined ? flagOf(offering, 'iscustomized') === true : textOf(offering, 'id') === wanted,
  )
  const chosen = service ?? (wanted === undefined ? fitting[0] : undefined)
  if (chosen === undefined) throw noService(size, wanted)
  const disks = await listed(cloudstack, 'listDiskOfferings', 'diskoffering', signal)
  const disk = disks.find(
    (offering) =>
      flagOf(offering, 'iscustomized') === true &&
      (config.disk_offering_id === undefined
        ? textOf(offering, 'storagetype') !== 'local'
        : textOf(offering, 'id') === config.disk_offering_id),
  )
  if (disk === undefined) {
    const message =
      'There is no disk offering of custom size for the recordings; make one, or name it in cam.disk_offering_id.'
    throw new ApiError('DISK_OFFERING_NOT_FOUND', message)
  }
  return {
    service_offering_id: textOf(chosen, 'id') ?? '',
    customized: flagOf(chosen, 'iscustomized') === true,
    disk_offering_id: textOf(disk, 'id') ?? '',
  }
}

function fits(offering: Raw, { cores, memory_mb, gpu_count, vgpu_profile_id }: NvrSize): boolean {
  const profile = textOf(offering, 'vgpuprofileid')
  const gpus = profile === null ? 0 : (integerOf(offering, 'gpucount') ?? 1)
  if (gpus !== gpu_count || (gpu_count > 0 && profile !== vgpu_profile_id)) return false
  if (flagOf(offering, 'iscustomized') !== true)
    return integerOf(offering, 'cpunumber') === cores && integerOf(offering, 'memory') === memory_mb
  const limits = mapOf(offering, 'serviceofferingdetails')
  const within = (value: number, what: string) =>
    value >= Number(limits[`min${what}`] ?? 0) && value <= Number(limits[`max${what}`] ?? Number.POSITIVE_INFINITY)
  return within(cores, 'cpunumber') && within(memory_mb, 'memory')
}

function noService({ cores, memory_mb, gpu_count, vgpu_profile_id }: NvrSize, wanted: string | undefined): ApiError {
  const gpus = gpu_count === 0 ? 'no GPU' : `${gpu_count} GPUs of the profile ${vgpu_profile_id}`
  const which = wanted === undefined ? 'There is no service offering' : `The service offering ${wanted} is none`
  const message = `${which} with ${cores} cores, ${memory_mb} MiB and ${gpus}: make one of this or of custom size.`
  return new ApiError('SERVICE_OFFERING_NOT_FOUND', message)
}

async function listed(cloudstack: CloudStack, command: string, key: string, signal: AbortSignal): Promise<Raw[]> {
  return rowsOf(await cloudstack.call(command, { listall: true, page: 1, pagesize: 500 }, { signal }), key)
}

/** Undefined: there is none any more, or it is being removed. */
export async function machineOf(
  cloudstack: CloudStack,
  vm_id: string,
  signal: AbortSignal,
): Promise<{ state: string; ip: string | null } | undefined> {
  const args = { id: vm_id, details: 'nics', ...WHOLE_SCOPE }
  const vm = await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, { signal })
  const state = vm === undefined ? null : textOf(vm, 'state')
  if (vm === undefined || state === null || ['Destroyed', 'Expunging', 'Error'].includes(state)) return undefined
  const addresses = rowsOf(vm, 'nic').map((nic) => textOf(nic, 'ipaddress'))
  return { state, ip: addresses.find((address) => address !== null && address !== '') ?? null }
}

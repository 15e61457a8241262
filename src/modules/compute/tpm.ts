// Firmware and virtual TPM of a machine: a few details of the map, with rules among them (cloudstack.md 6.2).
import type { TpmConfigure, VmFirmware } from '#src/contract/compute/guests.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, mapOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import type { DetailMap } from './details-map.ts'
import { writeSettings } from './settings-write.ts'
import { rawVm, requireState } from './vm-lookup.ts'
import { vmOf } from './vm-view.ts'

const UEFI = 'UEFI'
/** Left by some deployments; it would contradict the other. */
const BIOS = 'BIOS'
const MODEL = 'virtual.tpm.model'
const VERSION = 'virtual.tpm.version'
const DEFAULT_VERSION = '2.0'

export async function configureTpm(deps: PlatformDeps, body: TpmConfigure, ctx: RequestContext): Promise<VmFirmware> {
  requireSense(body)
  const vm = vmOf(await rawVm(deps.cloudstack, body.virtual_machine_id, ctx, 'min'))
  requireState(vm, vmCan.configureTpm)
  if (body.boot_type === UEFI) await requireUefiHost(deps.cloudstack, vm)
  const about = {
    resource_type: 'VM',
    resource_uuid: vm.id,
    tenant_id: vm.tenant_id,
    description: `Configuring the firmware of virtual machine ${vm.name}.`,
  }
  return recordChange(deps, ctx, about, async (note) => {
    const edit = (current: DetailMap) => ({ set: editOf(body, current) })
    const change = { virtual_machine_id: vm.id, edit, force: false }
    const after = await writeSettings(deps, change, requireTpmPair, ctx)
    note.description = `The firmware of virtual machine ${vm.name} is configured.`
    return firmwareOf(vm.id, mapOf(after, 'details'))
  })
}

function requireSense(body: TpmConfigure): void {
  const { boot_type, secure_boot, tpm_model, tpm_version } = body
  if ([boot_type, secure_boot, tpm_model, tpm_version].every((value) => value === undefined))
    throw invalidField('body', 'names nothing to change')
  if (boot_type === BIOS && secure_boot === true) throw invalidField('body.secure_boot', 'needs boot_type UEFI')
  if (tpm_model === '' && tpm_version !== undefined)
    throw invalidField('body.tpm_version', 'has no meaning without a TPM')
  if (tpm_model === 'tpm-crb' && tpm_version === '1.2')
    throw invalidField('body.tpm_version', 'tpm-crb exists as version 2.0 only')
}

function editOf(body: TpmConfigure, current: DetailMap): Record<string, string | null> {
  return { ...bootEdit(body, current), ...tpmEdit(body, current) }
}

function bootEdit({ boot_type, secure_boot }: TpmConfigure, current: DetailMap): Record<string, string | null> {
  if (boot_type === undefined && secure_boot === undefined) return {}
  const uefi = boot_type === undefined ? current[UEFI] !== undefined : boot_type === UEFI
  if (!uefi && secure_boot === true) throw invalidField('body.secure_boot', 'needs UEFI; the virtual machine has BIOS')
  return { [UEFI]: uefi ? (secure_boot === true ? 'SECURE' : 'LEGACY') : null, [BIOS]: null }
}

function tpmEdit({ tpm_model, tpm_version }: TpmConfigure, current: DetailMap): Record<string, string | null> {
  if (tpm_model === '') return { [MODEL]: null, [VERSION]: null }
  const model = tpm_model ?? current[MODEL]
  if (model === undefined) {
    if (tpm_version === undefined) return {}
    throw invalidField('body.tpm_model', 'is required: the virtual machine has no TPM')
  }
  if (tpm_model === undefined && tpm_version === undefined) return {}
  const unchanged = tpm_model === undefined || tpm_model === current[MODEL] ? current[VERSION] : undefined
  return { [MODEL]: model, [VERSION]: tpm_version ?? unchanged ?? DEFAULT_VERSION }
}

/** The host ignores a pair that does not exist in silence. A pair that stands already is left alone. */
export function requireTpmPair(intended: DetailMap, current: DetailMap): void {
  const same = intended[MODEL] === current[MODEL] && intended[VERSION] === current[VERSION]
  if (same || intended[MODEL] !== 'tpm-crb' || (intended[VERSION] ?? DEFAULT_VERSION) === '2.0') return
  throw new ApiError('SETTING_INVALID', `\`tpm_version\` must be 2.0 with tpm-crb, not ${intended[VERSION]}.`)
}

/** Without such a host the machine would not start; hosts that say nothing about it are given the benefit. */
async function requireUefiHost(cloudstack: CloudStack, vm: VirtualMachine): Promise<void> {
  const hosts = (await cloudstack.lookups.hosts()).filter((host) => textOf(host, 'zoneid') === vm.zone_id)
  if (hosts.length === 0 || hosts.some((host) => flagOf(host, 'ueficapability') !== false)) return
  throw new ApiError(
    'UEFI_UNSUPPORTED',
    `No host of zone ${vm.zone_name} can start virtual machine ${vm.name} with UEFI; set \`boot_type\` BIOS.`,
  )
}

function firmwareOf(virtual_machine_id: string, map: DetailMap): VmFirmware {
  const uefi = map[UEFI]
  const tpm_model = map[MODEL] ?? null
  return {
    virtual_machine_id,
    boot_type: uefi === undefined ? BIOS : UEFI,
    secure_boot: uefi?.toUpperCase() === 'SECURE',
    tpm_model,
    tpm_version: tpm_model === null ? null : (map[VERSION] ?? DEFAULT_VERSION),
    message: 'Takes effect at the next start.',
  }
}

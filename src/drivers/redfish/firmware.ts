// Firmware: what is installed, and an update that the BMC fetches itself.
import { actionOf, type Bmc, membersOf, optional, unsupported } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, flagAt, linkAt, localPath, textAt, textsAt } from './document.ts'
import { RedfishError } from './redfish-error.ts'
import { idOfPath } from './tasks.ts'

export interface FirmwareRow {
  id: string
  path: string
  name: string | null
  version: string | null
  updateable: boolean | null
}

/** Installed versions alone; empty where the BMC lists none. */
export async function readFirmware(bmc: Bmc, options: ReadOptions = {}): Promise<FirmwareRow[]> {
  const { root } = await bmc.graph(options)
  const service = await optional(bmc.client, linkAt(root, 'UpdateService'), options)
  const paths = await membersOf(bmc.client, linkAt(service, 'FirmwareInventory'), options).catch((error: unknown) => {
    // One service links to an inventory that it does not have.
    if (error instanceof RedfishError && error.problem === 'unsupported') return []
    throw error
  })
  const rows: FirmwareRow[] = []
  for (const path of paths) {
    const id = path.split('/').at(-1) ?? ''
    if (/^(Previous|Available)/.test(id)) continue
    const document = await optional(bmc.client, path, options)
    rows.push({
      id: textAt(document, 'Id') ?? id,
      path,
      name: textAt(document, 'Name'),
      version: textAt(document, 'Version'),
      updateable: flagAt(document, 'Updateable'),
    })
  }
  return rows
}

/** Versions by id, with that of the BIOS: what changes tells that an update was applied. */
export async function readVersions(bmc: Bmc, options: ReadOptions = {}): Promise<Record<string, string>> {
  const { system_path, manager_path } = await bmc.graph(options)
  const [system, manager] = [
    await bmc.client.get(system_path, options),
    await optional(bmc.client, manager_path, options),
  ]
  const rows = await readFirmware(bmc, options)
  const known: [string, string | null][] = [
    ['BIOS', textAt(system, 'BiosVersion')],
    ['BMC', textAt(manager, 'FirmwareVersion')],
    ...rows.map(({ id, version }): [string, string | null] => [id, version]),
  ]
  return Object.fromEntries(known.flatMap(([name, version]) => (version === null ? [] : [[name, version]])))
}

export interface UpdateOrder {
  image_uri: string
  targets?: readonly string[] | undefined
  apply_time?: 'Immediate' | 'OnReset' | undefined
}

export interface UpdateSubmitted {
  monitor: string | null
  remote_id: string | null
}

/** Throws unless the BMC can be updated this way. */
export async function requireSimpleUpdate(
  bmc: Bmc,
  options: ReadOptions = {},
): Promise<{ target: string; action: Document }> {
  const { root } = await bmc.graph(options)
  const service = await optional(bmc.client, linkAt(root, 'UpdateService'), options)
  const action = actionOf(service, 'UpdateService.SimpleUpdate')
  if (action === null) throw unsupported(bmc, 'cannot fetch firmware itself (SimpleUpdate)')
  return action
}

export async function submitUpdate(bmc: Bmc, order: UpdateOrder, signal?: AbortSignal): Promise<UpdateSubmitted> {
  const how = signal === undefined ? {} : { signal }
  const { target, action } = await requireSimpleUpdate(bmc, how)
  const protocols = textsAt(action, 'TransferProtocol@Redfish.AllowableValues')
  const protocol = order.image_uri.startsWith('https:') ? 'HTTPS' : 'HTTP'
  const times = textsAt(action, 'OperationApplyTimeSupport', 'SupportedValues')
  const apply_time = order.apply_time ?? 'OnReset'
  const body: Document = {
    ImageURI: order.image_uri,
    ...(protocols.includes(protocol) ? { TransferProtocol: protocol } : {}),
    ...(order.targets === undefined ? {} : { Targets: order.targets }),
    ...(times.includes(apply_time) ? { '@Redfish.OperationApplyTime': apply_time } : {}),
  }
  const written = await bmc.client.post(target, body, how).catch(async (error: unknown) => {
    // A refused request did nothing, so it may be sent again with what was missing.
    const wants = error instanceof RedfishError && error.status === 400 && /target/i.test(error.detail ?? '')
    if (!wants || order.targets !== undefined) throw error
    return bmc.client.post(target, { ...body, Targets: [await likelyTarget(bmc, how)] }, how)
  })
  const monitor = written.location ?? taskPathOf(written.body)
  return { monitor, remote_id: monitor === null ? null : idOfPath(monitor) }
}

async function likelyTarget(bmc: Bmc, options: ReadOptions): Promise<string> {
  const { system_path } = await bmc.graph(options)
  const bios = (await readFirmware(bmc, options)).find(({ id, name }) => /bios/i.test(`${id} ${name ?? ''}`))
  return bios?.path ?? system_path
}

function taskPathOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null
  return localPath((body as Document)['@odata.id'])
}

// Virtual media: which slot boots, what is in it, and the boot device for one boot.
import { setTimeout as pause } from 'node:timers/promises'
import { actionOf, type Bmc, type Graph, membersOf, optional, unsupported } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, flagAt, linkAt, textAt, textsAt } from './document.ts'
import { RedfishError } from './redfish-error.ts'

export interface MediaSlot {
  path: string
  id: string
  types: string[]
  inserted: boolean
  image: string | null
  insert: string | null
  eject: string | null
}

/** The BMC fetches the image while it answers. */
const INSERT_TIMEOUT_FACTOR = 2
const INSERT_ATTEMPTS = 3

/** Under the system in newer services, under the manager in older ones. */
export async function readMediaSlots(bmc: Bmc, options: ReadOptions = {}): Promise<MediaSlot[]> {
  const { system, manager } = await bmc.graph(options)
  for (const collection of [linkAt(system, 'VirtualMedia'), linkAt(manager, 'VirtualMedia')]) {
    const paths = await membersOf(bmc.client, collection, options).catch((error: unknown) => {
      if (error instanceof RedfishError && error.problem === 'unsupported') return []
      throw error
    })
    const slots: MediaSlot[] = []
    for (const path of paths) {
      const document = await optional(bmc.client, path, options)
      if (Object.keys(document).length > 0) slots.push(slotOf(path, document))
    }
    if (slots.length > 0) return slots
  }
  return []
}

function slotOf(path: string, document: Document): MediaSlot {
  return {
    path,
    id: textAt(document, 'Id') ?? path.split('/').at(-1) ?? '',
    types: textsAt(document, 'MediaTypes'),
    inserted: flagAt(document, 'Inserted') ?? textAt(document, 'Image') !== null,
    image: textAt(document, 'Image'),
    insert: actionOf(document, 'VirtualMedia.InsertMedia')?.target ?? null,
    eject: actionOf(document, 'VirtualMedia.EjectMedia')?.target ?? null,
  }
}

/** The slot that a machine can be started from: a CD, else a DVD; of an iDRAC10 only the first. */
export async function bootSlot(bmc: Bmc, options: ReadOptions = {}): Promise<MediaSlot> {
  const { dialect } = await bmc.graph(options)
  const slots = (await readMediaSlots(bmc, options)).filter(({ insert }) => insert !== null)
  const usable = dialect === 'vendora-10' ? slots.filter(({ id }) => id === '1') : slots
  const slot = usable.find(({ types }) => types.includes('CD')) ?? usable.find(({ types }) => types.includes('DVD'))
  if (slot === undefined) throw unsupported(bmc, 'has no virtual CD that a machine can be started from')
  return slot
}

export async function readSlot(bmc: Bmc, path: string, options: ReadOptions = {}): Promise<MediaSlot> {
  return slotOf(path, await bmc.client.get(path, options))
}

/** An error counts only when something is still in: services answer an empty slot in all ways. */
export async function ejectMedia(bmc: Bmc, slot: MediaSlot, signal?: AbortSignal): Promise<void> {
  if (slot.eject === null) return
  const how = signal === undefined ? {} : { signal }
  try {
    await bmc.client.post(slot.eject, {}, how)
  } catch (error) {
    if (!(error instanceof RedfishError) || error.status === undefined || error.status === 401) throw error
    if ((await readSlot(bmc, slot.path, how)).inserted) throw error
  }
}

/** Inserts once; after an error of the BMC it is read whether the image is in before it is asked again. */
export async function insertMedia(
  bmc: Bmc,
  slot: MediaSlot,
  image: string,
  timeout_ms: number,
  signal?: AbortSignal,
): Promise<void> {
  if (slot.insert === null) throw unsupported(bmc, `cannot insert media into ${slot.id}`)
  const how = { timeout_ms: INSERT_TIMEOUT_FACTOR * timeout_ms, ...(signal === undefined ? {} : { signal }) }
  let body: Document = { Image: image }
  for (let tried = 1; ; tried += 1) {
    try {
      await bmc.client.post(slot.insert, body, how)
      return
    } catch (error) {
      if (!(error instanceof RedfishError) || error.problem === 'credentials' || error.problem === 'pin') throw error
      const now = await readSlot(bmc, slot.path, signal === undefined ? {} : { signal })
      if (now.inserted && now.image === image && (error.status === undefined || error.status >= 500)) return
      const fuller = fullerBody(body, image, error)
      const again = fuller !== undefined || (error.status !== undefined && error.status >= 500)
      if (!again || tried === INSERT_ATTEMPTS) throw error
      body = fuller ?? body
      await pause(fuller === undefined ? bmc.client.retry_ms : 0, undefined, { signal })
    }
  }
}

/** Some vendors demand what the standard leaves to be chosen, others refuse it: more is said only when it is asked for. */
function fullerBody(body: Document, image: string, error: RedfishError): Document | undefined {
  const missing = error.messages.some(
    ({ id, text }) => /Missing|CreateFailedMissing/i.test(id) || /missing|required/i.test(text),
  )
  if (!missing || error.status !== 400) return undefined
  if (!('TransferProtocolType' in body))
    return { ...body, TransferProtocolType: image.startsWith('https') ? 'HTTPS' : 'HTTP' }
  if (!('TransferMethod' in body)) return { ...body, TransferMethod: 'Stream' }
  return undefined
}

export interface BootOverride {
  target: string | null
  enabled: string | null
  mode: string | null
}

function overrideOf(system: Document): BootOverride {
  return {
    target: textAt(system, 'Boot', 'BootSourceOverrideTarget'),
    enabled: textAt(system, 'Boot', 'BootSourceOverrideEnabled'),
    mode: textAt(system, 'Boot', 'BootSourceOverrideMode'),
  }
}

export async function readBootOverride(bmc: Bmc, options: ReadOptions = {}): Promise<BootOverride> {
  const { system_path } = await bmc.graph(options)
  return overrideOf(await bmc.client.get(system_path, options))
}

/** Sets the first of the wanted devices that the BMC knows, the virtual CD when left out, for the next boot. `Continuous` afterwards means that the service does not know Once: who asked must reset it. */
export async function setBootOnce(
  bmc: Bmc,
  signal?: AbortSignal,
  wanted: readonly string[] = ['Cd', 'UsbCd'],
): Promise<BootOverride> {
  const how = signal === undefined ? {} : { signal }
  const graph = await bmc.graph(how)
  const targets = textsAt(graph.system, 'Boot', 'BootSourceOverrideTarget@Redfish.AllowableValues')
  const target = targets.length === 0 ? wanted[0] : wanted.find((one) => targets.includes(one))
  if (target === undefined) throw unsupported(bmc, `cannot start a machine once from ${wanted.join(' or ')}`)
  const modes = textsAt(graph.system, 'Boot', 'BootSourceOverrideMode@Redfish.AllowableValues')
  const mode = modes.includes('UEFI') ? { BootSourceOverrideMode: 'UEFI' } : {}
  await patchBoot(bmc, graph, { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: 'Once', ...mode }, signal)
  return readBootOverride(bmc, how)
}

export async function clearBootOverride(bmc: Bmc, signal?: AbortSignal): Promise<void> {
  const how = signal === undefined ? {} : { signal }
  const { enabled, target } = await readBootOverride(bmc, how)
  if (enabled === null || enabled === 'Disabled' || target === 'None') return
  const graph = await bmc.graph(how)
  // Enabled alone is refused by some; with a target it is taken.
  await patchBoot(bmc, graph, { BootSourceOverrideTarget: 'None', BootSourceOverrideEnabled: 'Disabled' }, signal)
}

async function patchBoot(
  bmc: Bmc,
  { system, system_path }: Graph,
  boot: Document,
  signal: AbortSignal | undefined,
): Promise<void> {
  const settings = linkAt(system, '@Redfish.Settings', 'SettingsObject')
  const elsewhere = settings !== null && 'Boot' in (await optional(bmc.client, settings, { signal }))
  await bmc.client.patch(elsewhere ? settings : system_path, { Boot: boot }, signal === undefined ? {} : { signal })
}

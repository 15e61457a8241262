// Changes of zones of PowerDNS. It has no transactions over the calls that a change takes, so what was half made goes again.
import type { Log } from '#src/kernel/log.ts'
import type { DnsServer, ZoneState } from '../ddi/dns-server.ts'
import { dotted, type RecordSet } from './record-form.ts'
import type { PowerDnsCall } from './transport.ts'
import { apexSets, gone, kindOf, movedSet, zonePath } from './zone-form.ts'

export interface PowerDnsOptions {
  /** Full names of the name servers that new zones get. */
  name_servers: readonly string[]
  /** Mail address of new zones in the form of a name: hostmaster.example.net. */
  hostmaster: string
  /** Networks that may copy zones whose transfer is on. */
  transfer_networks: readonly string[]
  /** Secondaries to tell besides the name servers of the zone: address:port. */
  also_notify?: readonly string[]
  log: Log
}

/** Yyyymmddnn. With any word that it does not know PowerDNS never raises the serial, and no secondary ever follows. */
const SERIAL_RULE = 'DEFAULT'

type ZoneChanges = Pick<
  DnsServer,
  'createZone' | 'changeZone' | 'convertZone' | 'renameZone' | 'deleteZone' | 'transferZone' | 'notifyZone'
>

export interface ZoneAccess {
  write(call: Omit<PowerDnsCall, 'signal'>): Promise<unknown>
  zone(name: string): Promise<ZoneState | undefined>
  setsOf(zone: string): Promise<RecordSet[]>
}

export function zoneChanges(access: ZoneAccess, options: PowerDnsOptions): ZoneChanges {
  const { found, setTransfer, setNotified, setEnabled, create, copy, drop, orDrop } = stepsOf(access, options)
  const { write, setsOf } = access
  return {
    async createZone({ name, type, masters = [], notify = true, transfer = false, enabled = true }) {
      const primary = type === 'Primary'
      await create(name, kindOf(type, notify), masters, primary ? apexSets(name, options) : [])
      await orDrop(name, async () => {
        if (!primary) await copy(name)
        if (transfer) await setTransfer(name, true)
        if (primary && notify) await setNotified(name, true)
        if (!enabled) await setEnabled(name, false)
      })
    },
    async changeZone(name, { masters, notify, transfer, enabled }) {
      const zone = await found(name)
      if (masters !== undefined || notify !== undefined) {
        const kind = kindOf(zone.type, notify ?? zone.notify)
        await write({
          method: 'PUT',
          path: zonePath(name),
          body: { kind, ...(masters === undefined ? {} : { masters }) },
        })
      }
      if (notify !== undefined && zone.type === 'Primary') await setNotified(name, notify)
      if (transfer !== undefined) await setTransfer(name, transfer)
      if (enabled !== undefined && enabled !== zone.enabled) await setEnabled(name, enabled)
    },
    async convertZone(name, type, masters) {
      await write({ method: 'PUT', path: zonePath(name), body: { kind: kindOf(type, true), masters } })
      if (type === 'Secondary') await copy(name)
    },
    async renameZone(name, new_name) {
      const zone = await found(name)
      const moved = (await setsOf(name)).map((set) => movedSet(set, name, new_name))
      await create(new_name, kindOf(zone.type, zone.notify), zone.masters, moved)
      await orDrop(new_name, async () => {
        if (zone.transfer) await setTransfer(new_name, true)
        if (zone.notify) await setNotified(new_name, true)
        // Only a change rectifies, and names between the zone and deeper ones exist by that.
        await write({ method: 'PUT', path: zonePath(new_name), body: { api_rectify: true } })
        await setEnabled(new_name, zone.enabled)
        await write({ method: 'PUT', path: zonePath(new_name), body: { api_rectify: false } })
      })
      await drop(name)
    },
    deleteZone: drop,
    transferZone: copy,
    notifyZone: async (name) => void (await write({ method: 'PUT', path: `${zonePath(name)}/notify` })),
  }
}

function stepsOf({ write, zone: zoneNow, setsOf }: ZoneAccess, options: PowerDnsOptions) {
  const { also_notify = [], transfer_networks, log } = options
  const found = async (name: string): Promise<ZoneState> => {
    const zone = await zoneNow(name)
    if (zone === undefined) throw gone(name)
    return zone
  }
  const setMetadata = (zone: string, kind: string, values: readonly string[]): Promise<unknown> => {
    const path = `${zonePath(zone)}/metadata/${kind}`
    // Without values it is removed, so that the server's own default does not count either.
    if (values.length === 0) return write({ method: 'DELETE', path })
    return write({ method: 'PUT', path, body: { kind, metadata: values } })
  }
  const setTransfer = (name: string, on: boolean): Promise<unknown> =>
    setMetadata(name, 'ALLOW-AXFR-FROM', on ? transfer_networks : [])
  const setNotified = async (name: string, on: boolean): Promise<void> => {
    if (also_notify.length > 0) await setMetadata(name, 'ALSO-NOTIFY', on ? also_notify : [])
  }
  const setEnabled = async (name: string, enabled: boolean): Promise<void> => {
    const soa = (await setsOf(name)).find((set) => set.type === 'SOA')
    if (soa === undefined) throw gone(name)
    const records = soa.records.map((line) => ({ ...line, disabled: !enabled }))
    const rrsets = [{ name: soa.name, type: 'SOA', ttl: soa.ttl, changetype: 'REPLACE', records }]
    await write({ method: 'PATCH', path: zonePath(name), body: { rrsets } })
  }
  const create = async (name: string, kind: string, masters: readonly string[], rrsets: unknown[]): Promise<void> => {
    const body = {
      name: dotted(name),
      kind,
      masters,
      soa_edit_api: SERIAL_RULE,
      api_rectify: false,
      nameservers: [],
      rrsets,
    }
    await write({ method: 'POST', path: '/zones', body })
  }
  const copy = async (name: string): Promise<void> =>
    void (await write({ method: 'PUT', path: `${zonePath(name)}/axfr-retrieve` }))
  const drop = async (name: string): Promise<void> => void (await write({ method: 'DELETE', path: zonePath(name) }))
  /** What was just made goes again when a later part of it is refused. */
  const orDrop = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      await drop(name).catch((err: unknown) => log.warn({ err, zone: name }, 'a half-made zone stays'))
      throw error
    }
  }
  return { found, setTransfer, setNotified, setEnabled, create, copy, drop, orDrop }
}

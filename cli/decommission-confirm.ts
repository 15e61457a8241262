// `groundplane node decommission`: shows what the preflight found, and has the names of what is destroyed typed before it starts.
import { createInterface } from 'node:readline'
import { call } from './call.ts'
import type { Connection } from './connection.ts'
import { UsageError } from './failures.ts'
import type { RouteInput } from './input.ts'
import type { RouteTable } from './names.ts'
import { printTable } from './output.ts'
import { isRecord, type Json, textOf } from './records.ts'
import { note, oneLine, type Terminal } from './terminal.ts'

/** The operation that is confirmed. */
export const DECOMMISSION = 'decommissionStart'
/** Its field that may be left out here, or be the bare fingerprint. */
export const ACKNOWLEDGE = 'acknowledge'

/** A bare fingerprint, as the record that the service takes. */
export function acknowledgement(text: string): string {
  return /^[\w-]+$/.test(text) ? `fingerprint=${text}` : text
}

/** Completes the request by what the person acknowledges. */
export async function confirmDecommission(
  input: RouteInput,
  { connection, routes }: { connection: Connection; routes: RouteTable },
  { terminal, shows }: { terminal: Terminal; shows: boolean },
): Promise<void> {
  const preflight = routes.get('decommissionPreflight')
  const body: Json = isRecord(input.body) ? input.body : {}
  const given = isRecord(body[ACKNOWLEDGE]) ? body[ACKNOWLEDGE] : undefined
  const { force, accept, wipe } = body
  const wish = Object.fromEntries(Object.entries({ force, accept, wipe }).filter(([, value]) => value !== undefined))
  const found =
    preflight === undefined ? undefined : (await call(connection, preflight, { ...input, body: wish })).value
  if (!isRecord(found)) throw new UsageError('the service answers no preflight')
  if (shows) await showPreflight(terminal, found)
  requireSound(found, force === true, textOf(given?.fingerprint))
  if (given === undefined) await askForNames(terminal, found)
  const vms = given?.vms ?? namesIn(found.destroyed_vm_names)
  input.body = { ...body, [ACKNOWLEDGE]: { fingerprint: found.fingerprint, vms } }
}

/** A number that is not known, because its source did not answer, is a dash. */
async function showPreflight(terminal: Terminal, found: Json): Promise<void> {
  const checks = (Array.isArray(found.checks) ? found.checks : []).filter(isRecord)
  const cells = checks.map(({ status, name, message }) => [status, name, message].map((cell) => oneLine(String(cell))))
  await printTable(terminal, ['STATUS', 'CHECK', 'FOUND'], cells)
  const number = (name: string): string => (typeof found[name] === 'number' ? String(found[name]) : '-')
  await printTable(
    terminal,
    [],
    [
      ['machines', `${number('vm_count')}, of which ${number('migratable_vm_count')} can move`],
      ['routers and system services', number('system_vm_count')],
      ['destroyed machines', listed(found.destroyed_vm_names)],
      ['wiped disks', listed(found.wiped_disks)],
      ['disks taken out of the store', listed(isRecord(found.storage) ? found.storage.osds : [])],
      ['released addresses', listed(found.held_addresses)],
      ['fingerprint', `${textOf(found.fingerprint) ?? ''}, good until ${textOf(found.expires_at) ?? ''}`],
    ],
  )
}

const namesIn = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
const listed = (value: unknown): string => namesIn(value).map(oneLine).join(', ') || 'none'

function requireSound(found: Json, force: boolean, acknowledged: string | undefined): void {
  if (found.can_proceed !== true) throw new UsageError('a check has failed; nothing was started')
  if (found.requires_force === true && !force)
    throw new UsageError(`this destroys ${listed(found.destroyed_vm_names)}: repeat it with --force`)
  if (acknowledged === undefined || acknowledged === found.fingerprint) return
  const now = textOf(found.fingerprint) ?? ''
  throw new UsageError(`what was found has changed since ${oneLine(acknowledged)}; read it, and acknowledge ${now}`)
}

/** Machines by their names; disks by the address of their BMC, for nobody types serial numbers with care. */
async function askForNames(terminal: Terminal, found: Json): Promise<void> {
  const disks = namesIn(found.wiped_disks).length
  const asked = [
    ...namesIn(found.destroyed_vm_names).map((name) => ({ name, what: 'This machine is destroyed' })),
    ...(disks === 0 ? [] : [{ name: textOf(found.node_ip) ?? '', what: `${disks} disks of this node are wiped` }]),
  ]
  if (asked.length === 0) return
  const reader = createInterface({ input: terminal.stdin, signal: terminal.interrupted })
  const lines = reader[Symbol.asyncIterator]()
  try {
    for (const { name, what } of asked) {
      terminal.stderr.write(`${what}: ${oneLine(name)}. Type its name: `)
      const line = await lines.next()
      if (!terminal.stdin.isTTY) note(terminal, '')
      if (line.done === true || line.value.trim() !== name)
        throw new UsageError(`${oneLine(name)} was not typed; nothing was started`)
    }
  } finally {
    reader.close()
  }
}

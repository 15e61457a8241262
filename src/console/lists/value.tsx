// How single values are shown: not known is a dash, never a zero; a state is a word with a shape, never a colour alone.
import { inWords } from '../api/contract.ts'

const GOOD =
  /^(running|online|healthy|success|completed|succeeded|active|ready|enabled|up|configured|allocated|on|pass|ok|established|consistent|verified|full)$/i
const BAD =
  /^(error|fail|failed|divergent|critical|offline|down|destroyed|expired|revoked|provision_failed|configure_failed)$/i
const BUSY =
  /^(in_progress|starting|stopping|migrating|expunging|restoring|provisioning|configuring|warn|warning|degraded|decommissioning|rolling_back|awaiting)$/i

export function State({ text, why }: { text: unknown; why?: string | undefined }) {
  if (typeof text !== 'string' || text === '') return <NotKnown why={why} />
  const tone = GOOD.test(text) ? 'good' : BAD.test(text) ? 'bad' : BUSY.test(text) ? 'busy' : 'calm'
  return (
    <span className="state" data-tone={tone}>
      {inPlainCase(text)}
    </span>
  )
}

/** Subsystems write states in capitals or not: `SUCCESS` reads as its neighbours do. */
export function inPlainCase(state: string): string {
  return /^[A-Z][A-Z_ ]{3,}$/.test(state) ? state.toLowerCase().replaceAll('_', ' ') : state
}

/** A dash, never a zero; the reason where the service gave one. */
function NotKnown({ why = 'not known' }: { why?: string | undefined }) {
  return <span title={why}>–</span>
}

/** Why a field of a thing is null, as the thing says it. */
export function whyNull(thing: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const { unavailable } = thing as { unavailable?: readonly { field: string; reason: string }[] }
  return Array.isArray(unavailable) ? unavailable.find(({ field }) => field === name)?.reason : undefined
}

interface ValueProps {
  name: string
  value: unknown
  why?: string | undefined
}

export function Value({ name, value, why }: ValueProps) {
  if (value === null || value === undefined || value === '') return <NotKnown why={why} />
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>
  if (typeof value === 'number') return <>{amount(name, value)}</>
  if (typeof value !== 'string')
    return (
      <pre tabIndex={0} role="region" aria-label={inWords(name)}>
        {JSON.stringify(value, null, 2)}
      </pre>
    )
  if (isTime(value)) return <Time at={value} />
  if (UUID.test(value)) return <code title={value}>{value.slice(0, 8)}</code>
  return <>{visible(value)}</>
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-/i

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text))
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const calendar = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

export function Time({ at }: { at: string }) {
  const date = new Date(at)
  const now = new Date()
  const today = date.toDateString() === now.toDateString()
  const { format } = date.getFullYear() === now.getFullYear() ? day : calendar
  return (
    <time dateTime={at} title={at}>
      {today ? '' : `${format(date)} `}
      {clock.format(date)}
    </time>
  )
}

const number = new Intl.NumberFormat('en-GB')

const GIB = 1024 ** 3

/** What is smaller than a tenth of a GiB is told to the byte. */
function bytes(value: number): string {
  return value < GIB / 10
    ? `${number.format(value)} bytes`
    : `${number.format(Math.round((value / GIB) * 10) / 10)} GiB`
}

/** From here on MiB are too many digits to be read. */
const MANY_MB = 100 * 1024

/** Numbers that name something have no separators. */
const NAMES = /(^|_)(page|id|port|mtu|vlan|vni|asn|pid)$/

/** `_mb` becomes GiB where it is whole, or large. */
export function amount(name: string, value: number): string {
  if (name.endsWith('_mb'))
    return value % 1024 === 0 || value >= MANY_MB
      ? `${number.format(Math.round((value / 1024) * 10) / 10)} GiB`
      : `${number.format(value)} MiB`
  if (name.endsWith('_bytes')) return bytes(value)
  if (NAMES.test(name)) return String(value)
  return number.format(value)
}

/** Control and direction characters of names are shown, not obeyed. */
export function visible(text: string): string {
  return text.replace(
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

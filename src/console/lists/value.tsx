// How single values are shown: not known is a dash, never a zero; a state is a word with a shape, never a colour alone.
import { inWords } from '../api/contract.ts'

const GOOD =
  /^(running|online|healthy|success|completed|succeeded|active|ready|enabled|up|configured|allocated|on|pass|ok|established|consistent|verified|full)$/i
const BAD =
  /^(error|fail|failed|divergent|critical|offline|down|destroyed|expired|revoked|provision_failed|configure_failed)$/i
const BUSY =
  /^(in_progress|starting|stopping|migrating|expunging|restoring|provisioning|configuring|warn|warning|degraded|decommissioning|rolling_back|awaiting)$/i

export function State({ text }: { text: unknown }) {
  if (typeof text !== 'string' || text === '') return <span title="not known">–</span>
  const tone = GOOD.test(text) ? 'good' : BAD.test(text) ? 'bad' : BUSY.test(text) ? 'busy' : 'calm'
  return (
    <span className="state" data-tone={tone}>
      {text}
    </span>
  )
}

export function Value({ name, value }: { name: string; value: unknown }) {
  if (value === null || value === undefined || value === '') return <span title="not known">–</span>
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
const calendar = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

export function Time({ at }: { at: string }) {
  const date = new Date(at)
  const today = date.toDateString() === new Date().toDateString()
  return (
    <time dateTime={at} title={at}>
      {today ? '' : `${calendar.format(date)} `}
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

/** `_mb` becomes GiB where it is whole. */
function amount(name: string, value: number): string {
  if (name.endsWith('_mb')) return value % 1024 === 0 ? `${value / 1024} GiB` : `${number.format(value)} MiB`
  if (name.endsWith('_bytes')) return bytes(value)
  if (name === 'page' || name === 'id' || name.endsWith('_id')) return String(value)
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

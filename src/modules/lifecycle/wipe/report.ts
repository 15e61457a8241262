// What a wipe image reports, checked and put into our own words, and what is still not proven.
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { WholeWipeResult } from '#src/contract/nodes/wipe.ts'
import type { WipeRow } from '#src/store/wipes.ts'

const Disk = Type.Object({
  name: Type.String(),
  serial: Type.Union([Type.String(), Type.Null()]),
  wiped: Type.Boolean(),
  verified: Type.Boolean(),
  method: Type.Union([Type.String(), Type.Null()]),
  error: Type.Union([Type.String(), Type.Null()]),
})

/** Our rendering of validated values: never what was sent. */
export const WipeReport = Type.Object({
  received_at: Type.String(),
  source: Type.String(),
  authenticated: Type.Boolean(),
  success: Type.Integer(),
  all_verified: Type.Integer(),
  /** The flags agree with the disks. */
  consistent: Type.Boolean(),
  disks: Type.Array(Disk),
  missing_disks: Type.Array(Type.String()),
  unknown_disks: Type.Array(Type.String()),
  macs: Type.Array(Type.String()),
  conflict: Type.Boolean(),
})
export type WipeReport = Static<typeof WipeReport>

interface Received {
  at: Date
  source: string
  authenticated: boolean
  macs: readonly string[]
  expected: readonly string[]
  conflict: boolean
}

export function renderReport(
  body: WholeWipeResult,
  { at, source, authenticated, macs, expected, conflict }: Received,
): WipeReport {
  const disks = body.disks.map(({ name, serial = null, wiped, verified, method = null, error = null }) => ({
    name, serial, wiped, verified, method, error,
  })) // biome-ignore format: a record
  const isCalled = (wanted: string) => (disk: { name: string; serial: string | null }) =>
    disk.serial === wanted || disk.name === wanted
  const all = (of: (disk: (typeof disks)[number]) => boolean): number => Number(disks.every(of))
  return {
    received_at: at.toISOString(),
    source,
    authenticated,
    success: body.success,
    all_verified: body.all_verified,
    consistent: body.success === all(({ wiped }) => wiped) && body.all_verified === all(({ verified }) => verified),
    disks,
    missing_disks: expected.filter((wanted) => !disks.some(isCalled(wanted))),
    unknown_disks: disks
      .filter((disk) => !expected.some((wanted) => isCalled(wanted)(disk)))
      .map(({ name, serial }) => serial ?? name),
    macs: [...macs],
    conflict,
  }
}

/** What a person must still do about the disks; nothing when the report proves them clean. */
export function openDisks({ report, expected_disks, confirmed }: WipeRow, bmc_ip: string): string[] {
  if (confirmed !== null) return []
  const parsed: unknown = report === '' ? undefined : JSON.parse(report)
  const machine = `the machine of BMC ${bmc_ip}`
  if (!Value.Check(WipeReport, parsed)) {
    const disks = expected_disks.length === 0 ? ['The disks'] : expected_disks.map((serial) => `Disk ${serial}`)
    return disks.map((disk) => `${disk} of ${machine} not confirmed wiped: no report came.`)
  }
  if (!parsed.authenticated)
    return [
      `The disks of ${machine} are reported clean by an unauthenticated sender: check them, and confirm the wipe.`,
    ]
  if (!parsed.consistent)
    return [`The report of the wipe of ${machine} contradicts itself: check its disks, and confirm the wipe.`]
  const dirty = parsed.disks.filter(({ wiped, verified }) => !wiped || !verified)
  return [
    ...dirty.map(
      ({ name, serial, error }) =>
        `Disk ${serial ?? name} of ${machine} not confirmed wiped${error === null ? '' : `: ${error}`}.`,
    ),
    ...parsed.missing_disks.map(
      (serial) => `Disk ${serial} of ${machine} not confirmed wiped: the report does not name it.`,
    ),
    ...(parsed.disks.length === 0 ? [`The wipe image found no disk in ${machine}: check it.`] : []),
  ]
}

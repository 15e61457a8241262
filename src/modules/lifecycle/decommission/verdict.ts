// What a check is, and what it says.
import type { PreflightWish, Reading, Readings } from './readings.ts'
import type { VmPlan } from './vm-plan.ts'

export interface Verdict {
  status: 'pass' | 'warn' | 'fail'
  message: string
}

export interface CheckSpec {
  name: string
  /** Nodes that it is about; all of them when left out. */
  roles?: readonly string[]
  /** What lets a decommission go on in spite of its failure; nothing when left out. */
  accepted?: 'accept' | 'force' | 'accept_with_force'
  /** `plan`: of the machines on the node; undefined while the platform cannot be read. */
  judge(readings: Readings, wish: PreflightWish, plan: VmPlan | undefined): Verdict
}

export const pass = (message: string): Verdict => ({ status: 'pass', message })
export const warn = (message: string): Verdict => ({ status: 'warn', message })
export const fail = (message: string): Verdict => ({ status: 'fail', message })

type Sources = { [S in keyof Readings as Readings[S] extends Reading<unknown> ? S : never]: Readings[S] }
type Read<R> = R extends { read: infer T } ? T : never

/** A check of what one source tells. `unread`: how a source that could not be read counts. */
export function from<S extends keyof Sources>(
  source: S,
  unread: 'warn' | 'fail',
  judge: (value: Read<Sources[S]>, wish: PreflightWish) => Verdict,
): CheckSpec['judge'] {
  return (readings, wish) => {
    const reading = readings[source] as Reading<Read<Sources[S]>>
    return 'missing' in reading ? { status: unread, message: notRead(reading.missing) } : judge(reading.read, wish)
  }
}

export function notRead(reason: string): string {
  return `This cannot be told: ${reason}.`
}

// What an action will do, before it does it: for each thing, what becomes of it or why not; and what is lost with it by name.
import type { Action, Consequences, Target } from './action.ts'
import type { Outcome } from './outcomes.ts'
import { Problem } from './problem.tsx'
import type { Texts } from './values.ts'

interface PlanProps {
  action: Action
  planned: readonly { target: Target; why: string | null }[]
  outcomes: ReadonlyMap<string, Outcome>
}

/** So many are named; of the others only how many there are. */
const NAMED = 200

export function Plan({ action, planned, outcomes }: PlanProps) {
  const closed = planned.filter(({ why }) => why !== null).length
  // What needs somebody's eyes stands first.
  const rank = ({ target, why }: PlanProps['planned'][number]): number =>
    outcomes.get(target.id)?.status === 'failed' ? 0 : why === null ? 2 : 1
  const shown = planned.toSorted((one, other) => rank(one) - rank(other)).slice(0, NAMED)
  return (
    <>
      {planned.length > 1 && (
        <p role="status">
          {planned.length - closed} can, {closed} cannot.
        </p>
      )}
      <ul className="plan" tabIndex={0} aria-label="Plan">
        {shown.map(({ target, why }) => {
          const outcome = outcomes.get(target.id)
          return (
            <li key={target.id} data-can={why === null}>
              <strong>{target.name}</strong> {outcome === undefined ? (why ?? action.effect) : said(outcome)}
              {outcome?.status === 'failed' && <Problem error={outcome.error} />}
            </li>
          )
        })}
        {planned.length > NAMED && <li>and {planned.length - NAMED} more</li>}
      </ul>
    </>
  )
}

function said({ status }: Outcome): string {
  if (status === 'running') return 'is being asked for …'
  return status === 'accepted' ? 'was accepted.' : 'failed:'
}

interface LossesProps {
  losses: Consequences | 'reading' | undefined
  texts: Texts
  change(name: string, text: string): void
}

export function Losses({ losses, texts, change }: LossesProps) {
  if (losses === undefined) return null
  if (losses === 'reading') return <p className="waiting">Reading what will be lost …</p>
  const { goes, stays, optional } = losses
  const ticked = (texts[optional?.field ?? ''] ?? '').split('\n').filter((id) => id !== '')
  const toggle = (id: string): void => {
    const next = ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]
    change(optional?.field ?? '', next.join('\n'))
  }
  const things = optional?.things ?? []
  return (
    <>
      <Named
        title="Will be lost"
        names={[...goes, ...things.filter(({ id }) => ticked.includes(id)).map(({ name }) => name)]}
      />
      <Named
        title="Stays"
        names={[...stays, ...things.filter(({ id }) => !ticked.includes(id)).map(({ name }) => name)]}
      />
      {things.map(({ id, name }) => (
        <label key={id} className="inline">
          <input type="checkbox" checked={ticked.includes(id)} onChange={() => toggle(id)} />
          Delete {name} too
        </label>
      ))}
    </>
  )
}

function Named({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </section>
  )
}

export function Summary({ outcomes }: { outcomes: ReadonlyMap<string, Outcome> }) {
  const all = [...outcomes.values()]
  const failed = all.filter(({ status }) => status === 'failed').length
  const ended = all.length > 0 && all.every(({ status }) => status !== 'running')
  return (
    <p role="status" className="help">
      {ended && `${all.length - failed} accepted, ${failed} failed.`}
    </p>
  )
}

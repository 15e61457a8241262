// Actions of one thing as buttons: every one is there, and a closed one says why.
import { useState } from 'react'
import { Link } from 'wouter'
import { callAny } from '../api/call.ts'
import { whyNot } from '../api/why-not.ts'
import { type Action, bodyOf, type Target } from '../form/action.ts'
import { ActionDialog } from '../form/action-dialog.tsx'
import { Problem } from '../form/problem.tsx'
import { useMe } from '../session/session.ts'

interface Props {
  actions: readonly Action[]
  target: Target
  /** Where a dialog around these shows the plan itself. */
  choose?: (action: Action) => void
  done?: () => void
}

export function Actions({ actions, target, choose, done }: Props) {
  const me = useMe()
  const [problem, setProblem] = useState<unknown>()
  const [chosen, setChosen] = useState<Action>()
  const act = async (action: Action): Promise<void> => {
    if (action.weight !== 'at once') return (choose ?? setChosen)(action)
    try {
      await callAny(action.operation, { body: bodyOf(action, target) })
      done?.()
    } catch (error) {
      setProblem(error)
    }
  }
  const job = target.pending_job_id ?? target.machine?.pending_job_id ?? null
  const reasons = new Map(actions.map(({ operation }) => [operation, whyNot(me, operation, target)]))
  const open_first = actions.toSorted(
    (one, other) => Number(reasons.get(one.operation) !== null) - Number(reasons.get(other.operation) !== null),
  )
  return (
    <>
      {problem !== undefined && <Problem error={problem} />}
      {job !== null && (
        <p className="help">
          <Link href={`/jobs/${job}`}>See what the job does</Link>
        </p>
      )}
      <div className="actions">
        {open_first.map((action, at) => {
          const why = reasons.get(action.operation) ?? null
          return (
            <button
              key={action.operation}
              type="button"
              className={action.weight === 'destroys' ? 'destroys' : ''}
              aria-disabled={why !== null}
              // In a menu the likeliest is one key away.
              {...(at === 0 && choose !== undefined && { 'data-focus': true })}
              onClick={() => {
                if (why === null) void act(action)
              }}
            >
              {action.label}
              {why !== null && <small>{why}</small>}
            </button>
          )
        })}
      </div>
      {chosen !== undefined && <ActionDialog action={chosen} targets={[target]} close={() => setChosen(undefined)} />}
    </>
  )
}

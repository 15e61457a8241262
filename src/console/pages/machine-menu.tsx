// What can be done with one machine: every action is there, and a closed one says why.
import { useState } from 'react'
import { callAny } from '../api/call.ts'
import { whyNot } from '../api/why-not.ts'
import { type Action, ActionDialog, type Target } from '../form/action-dialog.tsx'
import { Dialog } from '../form/dialog.tsx'
import { Problem } from '../form/problem.tsx'
import { useMe } from '../session/session.ts'
import { MACHINE_ACTIONS } from './machine-actions.ts'

export function MachineMenu({ target, close }: { target: Target; close(): void }) {
  const [chosen, setChosen] = useState<Action>()
  if (chosen !== undefined) return <ActionDialog action={chosen} targets={[target]} close={close} />
  return (
    <Dialog title={target.name} className="menu" close={close}>
      <MachineActions target={target} choose={setChosen} done={close} />
    </Dialog>
  )
}

interface Props {
  target: Target
  choose(action: Action): void
  done?: () => void
}

export function MachineActions({ target, choose, done }: Props) {
  const me = useMe()
  const [problem, setProblem] = useState<unknown>()
  const act = async (action: Action): Promise<void> => {
    if (action.weight !== 'at once') return choose(action)
    try {
      await callAny(action.operation, { body: { virtual_machine_id: target.id } })
      done?.()
    } catch (error) {
      setProblem(error)
    }
  }
  const reasons = new Map(MACHINE_ACTIONS.map(({ operation }) => [operation, whyNot(me, operation, target)]))
  const open_first = MACHINE_ACTIONS.toSorted(
    (one, other) => Number(reasons.get(one.operation) !== null) - Number(reasons.get(other.operation) !== null),
  )
  return (
    <>
      {problem !== undefined && <Problem error={problem} />}
      <div className="actions">
        {open_first.map((action) => {
          const why = reasons.get(action.operation) ?? null
          return (
            <button
              key={action.operation}
              type="button"
              className={action.weight === 'destroys' ? 'destroys' : ''}
              aria-disabled={why !== null}
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
    </>
  )
}

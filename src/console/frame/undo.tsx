// Takes back what somebody has just done, where the contract has an inverse: as an operation of its own, with its own plan.
import { useState } from 'react'
import { call } from '../api/call.ts'
import type { Action, Target } from '../form/action.ts'
import { ActionDialog } from '../form/action-dialog.tsx'
import { Problem } from '../form/problem.tsx'
import { INVERSE, MACHINE_ACTIONS, targetOf } from '../pages/machine-actions.ts'
import { useMe } from '../session/session.ts'
import type { Operation } from '../stream/activity.ts'

const OFFERED_MS = 10 * 60_000

export function Undo({ operation }: { operation: Operation }) {
  const me = useMe()
  const [plan, setPlan] = useState<{ action: Action; target: Target }>()
  const [problem, setProblem] = useState<unknown>()
  const { action, status, username, resource_uuid, created_at } = operation
  const inverse = MACHINE_ACTIONS.find((one) => one.operation === INVERSE[action])
  const is_recent = Date.now() - Date.parse(created_at) < OFFERED_MS
  if (inverse === undefined || status !== 'SUCCESS' || username !== me.username || !is_recent) return null
  const begin = (): void => {
    call('vmGet', { body: { virtual_machine_id: resource_uuid } }).then(
      (machine) => setPlan({ action: inverse, target: targetOf(machine) }),
      setProblem,
    )
  }
  return (
    <>
      <button type="button" className="link" onClick={begin}>
        Undo
      </button>
      {problem !== undefined && <Problem error={problem} />}
      {plan !== undefined && (
        <ActionDialog action={plan.action} targets={[plan.target]} close={() => setPlan(undefined)} />
      )}
    </>
  )
}

// Machines that are selected, by hand or as all that match the filter, and one plan for all of them.
import { useState } from 'react'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Action, Target } from '../form/action.ts'
import { ActionDialog } from '../form/action-dialog.tsx'
import { Problem } from '../form/problem.tsx'
import type { Row } from '../lists/columns.tsx'
import { readPages } from '../lists/export.ts'
import { useCount } from '../lists/rows.tsx'
import { MACHINE_ACTIONS, targetOf } from './machine-actions.ts'

export function useSelection() {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Target>>(new Map())
  const [is_all, setAll] = useState(false)
  return {
    chosen,
    /** Whatever matches when the plan is made. */
    is_all,
    has: (id: string) => is_all || chosen.has(id),
    toggle(row: Row) {
      const target = targetOf(row as VirtualMachine)
      setAll(false)
      setChosen((before) => {
        const next = new Map(before)
        if (!next.delete(target.id)) next.set(target.id, target)
        return next
      })
    },
    all: () => setAll(true),
    none() {
      setAll(false)
      setChosen(new Map())
    },
  }
}

type Props = ReturnType<typeof useSelection> & { filter: Readonly<Record<string, string>> }

export function SelectionBar({ chosen, is_all, all, none, filter }: Props) {
  const { count } = useCount('vmList', filter)
  const [plan, setPlan] = useState<{ action: Action; targets: readonly Target[] }>()
  const [reading, setReading] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const begin = async (action: Action): Promise<void> => {
    if (!is_all) return setPlan({ action, targets: [...chosen.values()] })
    setReading(true)
    try {
      setPlan({ action, targets: await matching(filter) })
    } catch (error) {
      setProblem(error)
    }
    setReading(false)
  }
  const words = (count ?? 0).toLocaleString('en-GB')
  return (
    <div className="selection" role="region" aria-label="Selection">
      <span role="status">
        {reading ? `Reading ${words} machines …` : is_all ? `All ${words} that match` : `${chosen.size} selected`}
      </span>
      {!is_all && (
        <button type="button" onClick={all}>
          Select all {words} that match
        </button>
      )}
      {MACHINE_ACTIONS.filter(({ bulk }) => bulk).map((action) => (
        <button key={action.operation} type="button" aria-disabled={reading} onClick={() => void begin(action)}>
          {action.label} …
        </button>
      ))}
      <button type="button" onClick={none}>
        Select none
      </button>
      {problem !== undefined && <Problem error={problem} />}
      {plan !== undefined && <ActionDialog {...plan} close={() => setPlan(undefined)} />}
    </div>
  )
}

async function matching(filter: Readonly<Record<string, string>>): Promise<Target[]> {
  const targets: Target[] = []
  for await (const { rows } of readPages('vmList', filter))
    targets.push(...rows.map((row) => targetOf(row as VirtualMachine)))
  return targets
}

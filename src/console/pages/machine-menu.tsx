// What can be done with one machine, over the list of all.
import { useState } from 'react'
import type { Action, Target } from '../form/action.ts'
import { ActionDialog } from '../form/action-dialog.tsx'
import { Dialog } from '../form/dialog.tsx'
import { Actions } from './actions.tsx'
import { MACHINE_ACTIONS } from './machine-actions.ts'

export function MachineMenu({ target, close }: { target: Target; close(): void }) {
  const [chosen, setChosen] = useState<Action>()
  if (chosen !== undefined) return <ActionDialog action={chosen} targets={[target]} close={close} />
  return (
    <Dialog title={target.name} className="menu" close={close}>
      <Actions actions={MACHINE_ACTIONS} target={target} choose={setChosen} done={close} />
    </Dialog>
  )
}

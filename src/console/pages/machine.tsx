// One virtual machine: how it is, what can be done with it, and what happened to it.
import { useState } from 'react'
import { useCall } from '../api/queries.ts'
import { type Action, ActionDialog } from '../form/action-dialog.tsx'
import { State, visible } from '../lists/value.tsx'
import { targetOf } from './machine-actions.ts'
import { MachineActions } from './machine-menu.tsx'
import { Facts, Loaded, Panel } from './panel.tsx'
import { Entries } from './timeline.tsx'

export function MachinePage({ id }: { id: string }) {
  const machine = useCall('vmGet', { body: { virtual_machine_id: id } })
  const history = useCall('vmHistory', { params: { virtual_machine_id: id }, query: { page_size: 50 } })
  const [action, setAction] = useState<Action>()
  return (
    <>
      <h1>{machine.data === undefined ? 'Virtual machine' : visible(machine.data.name)}</h1>
      <Loaded query={machine}>
        {(vm) => (
          <>
            <p>
              <State text={vm.state} />
            </p>
            <MachineActions target={targetOf(vm)} choose={setAction} />
            <Facts thing={vm} />
            {action !== undefined && (
              <ActionDialog action={action} targets={[targetOf(vm)]} close={() => setAction(undefined)} />
            )}
          </>
        )}
      </Loaded>
      <Panel title="History" query={history}>
        {({ entries }) => <Entries entries={entries} />}
      </Panel>
    </>
  )
}

// Virtual machines: any number of rows, changed by the stream, with actions for one or for those that are selected.
import { useState } from 'react'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { VM_STATES } from '#src/contract/compute/vm-can.ts'
import { whyNot } from '../api/why-not.ts'
import { type Action, ActionDialog, type Target } from '../form/action-dialog.tsx'
import { columnOf, type Row } from '../lists/columns.tsx'
import { Rows, useCount } from '../lists/rows.tsx'
import { useMe } from '../session/session.ts'
import { FilterBar } from './filter-bar.tsx'
import { BULK_ACTIONS, MACHINE_ACTIONS, targetOf } from './machine-actions.ts'
import { MachineMenu } from './machine-menu.tsx'
import { useFilter } from './panel.tsx'
import { Link } from 'wouter'

const COLUMNS = [
  columnOf('name'),
  columnOf('state'),
  columnOf('tenant_name', 'tenant'),
  columnOf('host_name', 'host'),
  columnOf('ip_address', 'address'),
  columnOf('memory_mb', 'memory'),
  columnOf('service_offering_name', 'offering'),
]
const LABEL = 'Virtual machines'

export function MachinesPage() {
  const [filter, setFilter] = useFilter()
  const [menu, setMenu] = useState<Target>()
  const [action, setAction] = useState<Action>()
  const [selected, setSelected] = useState<ReadonlyMap<string, Target>>(new Map())
  const toggle = (row: Row): void => {
    const target = targetOf(row as VirtualMachine)
    setSelected((before) => {
      const next = new Map(before)
      if (!next.delete(target.id)) next.set(target.id, target)
      return next
    })
  }
  return (
    <>
      <div className="title">
        <h1>{LABEL}</h1>
        <Count filter={filter} />
        <NewMachine />
      </div>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'keyword', label: 'Name' },
          { name: 'state', label: 'State', options: [...VM_STATES, 'Present'] },
        ]}
      />
      {selected.size > 0 && (
        <div className="selection" role="region" aria-label="Selection">
          <span role="status">{selected.size} selected</span>
          {MACHINE_ACTIONS.filter(({ operation }) => BULK_ACTIONS.includes(operation)).map((one) => (
            <button key={one.operation} type="button" onClick={() => setAction(one)}>
              {one.label} …
            </button>
          ))}
          <button type="button" onClick={() => setSelected(new Map())}>
            Select none
          </button>
        </div>
      )}
      <Rows
        label={LABEL}
        operation="vmList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={({ id }) => `/vms/${String(id)}`}
        menu={(row) => setMenu(targetOf(row as VirtualMachine))}
        selection={{ has: (id) => selected.has(id), toggle }}
        empty={<Nothing filtered={Object.keys(filter).length > 0} />}
      />
      {menu !== undefined && <MachineMenu target={menu} close={() => setMenu(undefined)} />}
      {action !== undefined && (
        <ActionDialog action={action} targets={[...selected.values()]} close={() => setAction(undefined)} />
      )}
    </>
  )
}

function Count({ filter }: { filter: Record<string, string> }) {
  const { count } = useCount('vmList', filter)
  return (
    <span role="status" className="help">
      {count !== undefined && `${count.toLocaleString('en-GB')} ${Object.keys(filter).length > 0 ? 'match' : ''}`}
    </span>
  )
}

function NewMachine() {
  const why = whyNot(useMe(), 'vmProvision')
  return why === null ? (
    <Link href="/operations/vmProvision" className="button">
      New machine
    </Link>
  ) : (
    <span className="help">New machine: {why}</span>
  )
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (!filtered) return <p>There is no virtual machine yet.</p>
  return (
    <p>
      No virtual machine matches. <Link href="/vms">Show all</Link>
    </p>
  )
}

// Virtual machines: any number of rows, changed by the stream, with actions for one or for those that are selected.
import { useState } from 'react'
import { Link } from 'wouter'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { VM_STATES } from '#src/contract/compute/vm-can.ts'
import { useDetails } from '../api/details.ts'
import { whyNot } from '../api/why-not.ts'
import type { Target } from '../form/action.ts'
import { plain } from '../form/values.ts'
import { type Column, columnOf, columnsOf } from '../lists/columns.tsx'
import { Rows, useCount } from '../lists/rows.tsx'
import { ListTools } from '../lists/tools.tsx'
import { useView } from '../lists/view.ts'
import { useMe } from '../session/session.ts'
import { FilterBar } from './filter-bar.tsx'
import { targetOf } from './machine-actions.ts'
import { MachineMenu } from './machine-menu.tsx'
import { SelectionBar, useSelection } from './machine-selection.tsx'

/** Shown where nobody chose, in words of people. */
const TITLES: Readonly<Record<string, string>> = {
  name: 'name', state: 'state', tenant_name: 'tenant', host_name: 'host', ip_address: 'address', memory_mb: 'memory',
  service_offering_name: 'offering',
} // biome-ignore format: a table
const DEFAULTS = Object.keys(TITLES)
const LABEL = 'Virtual machines'

function useMachineColumns(): Column[] {
  const { details } = useDetails('vmList')
  const others = columnsOf(plain(details?.item ?? {})).filter(({ name }) => !DEFAULTS.includes(name))
  return [...Object.entries(TITLES).map(([name, title]) => columnOf(name, title)), ...others]
}

export function MachinesPage() {
  const columns = useMachineColumns()
  const view = useView('vmList', columns, DEFAULTS)
  const [menu, setMenu] = useState<Target>()
  const selection = useSelection()
  return (
    <>
      <div className="title">
        <h1>{LABEL}</h1>
        <Count filter={view.filter} />
        <NewMachine />
      </div>
      <FilterBar
        filter={view.filter}
        set={view.set}
        fields={[
          { name: 'keyword', label: 'Name' },
          { name: 'state', label: 'State', options: [...VM_STATES, 'Present'] },
        ]}
      />
      <ListTools operation="vmList" view={view} columns={columns} />
      {(selection.is_all || selection.chosen.size > 0) && <SelectionBar {...selection} filter={view.filter} />}
      <Rows
        label={LABEL}
        operation="vmList"
        filter={view.asked}
        columns={view.columns}
        view={view}
        hrefOf={({ id }) => `/vms/${String(id)}`}
        menu={(row) => setMenu(targetOf(row as VirtualMachine))}
        selection={selection}
        empty={<Nothing filtered={Object.keys(view.filter).length > 0} />}
      />
      {menu !== undefined && <MachineMenu target={menu} close={() => setMenu(undefined)} />}
    </>
  )
}

function Count({ filter }: { filter: Readonly<Record<string, string>> }) {
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
    <Link href="/vms/new" className="button">
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

// Hosts of the platform with their machines, and emptying one: all of its machines elsewhere, as one plan.
import { useState } from 'react'
import { Link } from 'wouter'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Answer } from '../api/call.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import type { Action } from '../form/action.ts'
import { ActionDialog } from '../form/action-dialog.tsx'
import { useFilter } from '../lists/filter.ts'
import { type Column, columnOf, type Row } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { Table } from '../lists/table.tsx'
import { State } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { FilterBar } from './filter-bar.tsx'
import { targetOf } from './machine-actions.ts'
import { Facts, Loaded, Panel } from './panel.tsx'

type Host = Answer<'hostList'>['hosts'][number]

const GIB = 1024 ** 3
const MOST = 500

function Memory({ host }: { host: Host }) {
  const { memory_total_bytes: total, memory_allocated_bytes: used, name } = host
  if (total === null || used === null || total === 0) return <span title="not known">–</span>
  return (
    <>
      <meter min={0} max={total} high={total * 0.8} value={used} aria-label={`memory of ${name}`} />{' '}
      {Math.round(used / GIB)} of {Math.round(total / GIB)} GiB
    </>
  )
}

const COLUMNS: readonly Column[] = [
  columnOf('name'),
  columnOf('state'),
  columnOf('resource_state', 'takes machines'),
  columnOf('cluster_name', 'cluster'),
  columnOf('ip_address', 'address'),
  columnOf('cpu_cores', 'cores'),
  { name: 'memory', title: 'memory promised', cell: (row: Row) => <Memory host={row as unknown as Host} /> },
]

export function HostsPage() {
  const why = whyNot(useMe(), 'hostList')
  return (
    <>
      <h1>Hosts</h1>
      {why === null ? <AllHosts /> : <p>{why}</p>}
    </>
  )
}

function AllHosts() {
  const [filter, setFilter] = useFilter()
  return (
    <>
      <FilterBar filter={filter} set={setFilter} fields={[{ name: 'keyword', label: 'Name' }]} />
      <Rows
        label="Hosts"
        operation="hostList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={({ id }) => `/hosts/${String(id)}`}
        empty={<p>{Object.keys(filter).length > 0 ? 'No host matches.' : 'The platform has no host.'}</p>}
      />
    </>
  )
}

export function HostPage({ id }: { id: string }) {
  const why = whyNot(useMe(), 'hostList')
  return why === null ? (
    <OneHost id={id} />
  ) : (
    <>
      <h1>Host</h1>
      <p>{why}</p>
    </>
  )
}

function OneHost({ id }: { id: string }) {
  const hosts = useCall('hostList', { query: { page_size: MOST } })
  const host = hosts.data?.hosts.find((one) => one.id === id)
  const machines = useCall('vmList', { body: { host_id: id, page_size: MOST } })
  return (
    <>
      <div className="title">
        <h1>{host?.name ?? 'Host'}</h1>
        {host !== undefined && <State text={host.state} />}
        <Link href="/hosts" className="button">
          All hosts
        </Link>
      </div>
      <Loaded query={hosts}>
        {(answer) =>
          host === undefined ? (
            <p>The platform has no host {id}.</p>
          ) : (
            <>
              <Loaded query={machines}>{({ virtual_machines }) => <Empty machines={virtual_machines} />}</Loaded>
              <Facts thing={host} />
              <Elsewhere hosts={answer.hosts.filter((one) => one.cluster_id === host.cluster_id && one !== host)} />
            </>
          )
        }
      </Loaded>
      <Panel title="Machines on it" query={machines}>
        {({ virtual_machines, count }) => (
          <>
            <Table label="Machines" rows={virtual_machines} columns={MACHINE_COLUMNS} empty="No machine is on it." />
            {count > virtual_machines.length && (
              <p>
                These are {virtual_machines.length} of {count}.
              </p>
            )}
          </>
        )}
      </Panel>
    </>
  )
}

const MACHINE_COLUMNS: readonly Column[] = [
  {
    name: 'name',
    title: 'name',
    cell: ({ id, name }: Row) => <Link href={`/vms/${String(id)}`}>{String(name)}</Link>,
  },
  columnOf('state'),
  columnOf('tenant_name', 'tenant'),
  columnOf('ip_address', 'address'),
  columnOf('memory_mb', 'memory'),
  columnOf('cpu_cores', 'cores'),
]

const EMPTYING: Action = {
  operation: 'vmMigrate',
  label: 'Move',
  weight: 'interrupts',
  effect: 'will move to another host while it runs.',
  texts: { auto_select: 'true' },
  fields: [],
}

function Empty({ machines }: { machines: readonly VirtualMachine[] }) {
  const [open, setOpen] = useState(false)
  const why = whyNot(useMe(), 'vmMigrate') ?? (machines.length === 0 ? 'No machine is on it.' : null)
  return (
    <>
      <div className="actions">
        <button
          type="button"
          aria-disabled={why !== null}
          onClick={() => {
            if (why === null) setOpen(true)
          }}
        >
          Empty this host
          {why !== null && <small>{why}</small>}
        </button>
      </div>
      {open && <ActionDialog action={EMPTYING} targets={machines.map(targetOf)} close={() => setOpen(false)} />}
    </>
  )
}

/** Where the machines could go: the platform chooses. */
function Elsewhere({ hosts }: { hosts: readonly Host[] }) {
  return (
    <section aria-label="Room elsewhere">
      <h2>Room elsewhere in the cluster</h2>
      {hosts.length === 0 && <p>It is the only host of its cluster.</p>}
      <ul className="map" aria-label="Other hosts">
        {hosts.map((host) => {
          const takes = host.state === 'Up' && host.resource_state === 'Enabled'
          return (
            <li key={host.id} data-tone={takes ? 'calm' : 'bad'}>
              <Link href={`/hosts/${host.id}`}>{host.name}</Link> <State text={host.state} />
              <p>
                <Memory host={host} />
              </p>
              {!takes && <p className="error">It takes no machines: {host.resource_state ?? 'not known why'}.</p>}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

// One virtual machine: how it is, what can be done with it, and a tab for each part of it.
import { type ComponentType, Suspense, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { useCall } from '../api/queries.ts'
import { isSingleKey } from '../frame/keys.ts'
import { later } from '../later.ts'
import { State, visible } from '../lists/value.tsx'
import { Actions } from './actions.tsx'
import { MACHINE_ACTIONS, targetOf } from './machine-actions.ts'
import { Disks, Network, Settings, Snapshots } from './machine-parts.tsx'
import { Metrics } from './machine-metrics.tsx'
import { Facts, Loaded } from './panel.tsx'
import { Entries } from './timeline.tsx'

interface TabProps {
  machine: VirtualMachine
}

const TABS: Readonly<Record<string, { title: string; Content: ComponentType<TabProps> }>> = {
  '': { title: 'Summary', Content: Summary },
  disks: { title: 'Disks', Content: Disks },
  network: { title: 'Network', Content: Network },
  snapshots: { title: 'Snapshots', Content: Snapshots },
  screen: { title: 'Screen', Content: ScreenTab },
  events: { title: 'Events', Content: History },
  metrics: { title: 'Metrics', Content: Metrics },
  settings: { title: 'Settings', Content: Settings },
}

export function MachinePage({ id, tab = '' }: { id: string; tab?: string | undefined }) {
  const query = useCall('vmGet', { body: { virtual_machine_id: id } })
  const { Content } = TABS[tab] ?? { Content: NoSuchTab }
  useTabKeys(id)
  return (
    <>
      <div className="title">
        <h1>{query.data === undefined ? 'Virtual machine' : visible(query.data.name)}</h1>
        {query.data !== undefined && <State text={query.data.state} />}
        <Link href={`/vms/new?like=${id}`} className="button">
          Create like this
        </Link>
      </div>
      <nav className="tabs" aria-label="Parts of the machine">
        {Object.entries(TABS).map(([name, { title }]) => (
          <Link
            key={name}
            href={name === '' ? `/vms/${id}` : `/vms/${id}/${name}`}
            {...(name === tab && { 'aria-current': 'page' as const })}
          >
            {title}
          </Link>
        ))}
      </nav>
      <Loaded query={query}>{(machine) => <Content machine={machine} />}</Loaded>
    </>
  )
}

const Screen = later(() => import('../screen/screen.tsx').then((file) => file.Screen))

function ScreenTab({ machine }: TabProps) {
  return (
    <Suspense fallback={<p className="waiting">Loading …</p>}>
      <Screen machine={machine} />
    </Suspense>
  )
}

/** The tabs are the keys 1, 2, 3 … */
function useTabKeys(id: string): void {
  const [, go] = useLocation()
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      const tab = isSingleKey(event) && /^[1-9]$/.test(event.key) ? Object.keys(TABS)[Number(event.key) - 1] : undefined
      if (tab !== undefined) go(tab === '' ? `/vms/${id}` : `/vms/${id}/${tab}`)
    }
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [id, go])
}

function Summary({ machine }: TabProps) {
  // They have a tab of their own.
  const { nics: _nics, ...own } = machine
  return (
    <>
      <Actions actions={MACHINE_ACTIONS} target={targetOf(machine)} />
      <Facts thing={own} />
    </>
  )
}

function History({ machine }: TabProps) {
  const query = useCall('vmHistory', { params: { virtual_machine_id: machine.id }, query: { page_size: 200 } })
  return <Loaded query={query}>{({ entries }) => <Entries entries={entries} />}</Loaded>
}

function NoSuchTab(_props: TabProps) {
  return <p>A virtual machine has no such part.</p>
}

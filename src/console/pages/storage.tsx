// Storage as a whole: disks of machines and their snapshots, and what the nodes measured, compared with each other.
import { useQueries } from '@tanstack/react-query'
import type { BenchmarkIo, BenchmarkResult } from '#src/contract/storage/benchmark.ts'
import { call } from '../api/call.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import { type Column, columnOf, type Row } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { Value } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Loaded } from './panel.tsx'
import { type Part, PartLists } from './part-lists.tsx'

const PARTS: readonly Part[] = [
  { path: '', title: 'Disks', operation: 'volumeList' },
  { path: 'snapshots', title: 'Snapshots of machines', operation: 'vmSnapshotList' },
  { path: 'benchmarks', title: 'Benchmarks', shows: () => <Benchmarks /> },
]

export function StoragePage({ part }: { part?: string | undefined }) {
  return <PartLists title="Storage" base="/storage" parts={PARTS} part={part} />
}

/** Each node is asked by itself: of more than these nobody compares by eye. */
const MOST_NODES = 20

function Benchmarks() {
  const why = whyNot(useMe(), 'nodeList')
  return why === null ? <OfAllNodes /> : <p>{why}</p>
}

function OfAllNodes() {
  const query = useCall('nodeList', { query: { page_size: 200 } })
  return (
    <Loaded query={query}>
      {({ nodes }) => {
        const asked = nodes.flatMap(({ fqdn, bmc_ip, node_ip, status }) =>
          node_ip !== null && status === 'online' ? [{ name: fqdn ?? bmc_ip, node_ip }] : [],
        )
        return (
          <>
            {asked.length > MOST_NODES && (
              <p>
                These are the first {MOST_NODES} of {asked.length} nodes.
              </p>
            )}
            <Comparison nodes={asked.slice(0, MOST_NODES)} />
          </>
        )
      }}
    </Loaded>
  )
}

interface Measured extends BenchmarkResult {
  node: string
}

const share = (way: 'read' | 'write', all: readonly Measured[]): Column => ({
  name: `${way} share`,
  title: `${way} against the best`,
  cell: (row: Row) => {
    const mine = row as unknown as Measured
    const alike = all.filter(({ type, profile }) => type === mine.type && profile === mine.profile)
    const best = Math.max(...alike.map((one) => one[way].iops ?? 0))
    const { iops } = mine[way]
    if (iops === null || best === 0) return <span title="not known">–</span>
    const percent = Math.round((iops / best) * 100)
    return (
      <>
        <meter min={0} max={100} value={percent} aria-label={`${way} of ${mine.node}`} /> {percent} %
      </>
    )
  },
})

const figure = (way: 'read' | 'write', name: keyof BenchmarkIo, title: string): Column => ({
  name: `${way} ${name}`,
  title: `${way} ${title}`,
  cell: (row: Row) => <Value name={name} value={(row as unknown as Measured)[way][name]} />,
})

function Comparison({ nodes }: { nodes: readonly { name: string; node_ip: string }[] }) {
  const found = useQueries({
    queries: nodes.map(({ node_ip }) => ({
      queryKey: ['benchmarkResultList', { query: { page_size: 20 } }, node_ip],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('benchmarkResultList', { query: { page_size: 20 } }, { signal, node: node_ip }),
    })),
  })
  const rows = found
    .flatMap(({ data }, at) => (data?.results ?? []).map((one): Measured => ({ ...one, node: nodes[at]?.name ?? '' })))
    .filter(({ status }) => status === 'completed')
    .toSorted((one, other) => `${one.type} ${one.profile}`.localeCompare(`${other.type} ${other.profile}`))
  return (
    <>
      {found.map(({ error }, at) => error !== null && <Problem key={nodes[at]?.node_ip} error={error} />)}
      {found.some(({ isPending }) => isPending) && <p className="waiting">Asking the nodes …</p>}
      <Table
        label="Benchmarks of all nodes"
        rows={rows}
        columns={[
          columnOf('type'),
          columnOf('profile'),
          columnOf('node'),
          columnOf('target'),
          columnOf('started_at', 'began'),
          figure('read', 'iops', 'a second'),
          share('read', rows),
          figure('write', 'iops', 'a second'),
          share('write', rows),
          figure('read', 'latency_p99_us', 'p99 µs'),
        ]}
        empty="No node has measured its storage yet: each node’s page begins a run."
      />
    </>
  )
}

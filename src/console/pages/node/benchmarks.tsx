// Storage benchmarks of a node: what was measured, and new runs.
import type { BenchmarkIo } from '#src/contract/storage/benchmark.ts'
import { useNodeCall } from '../../api/queries.ts'
import { type Column, columnOf, type Row } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { Value } from '../../lists/value.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Panel } from '../panel.tsx'
import { AskedNode } from './asked-node.tsx'
import type { NodeProps } from './node.ts'

const figure = (way: 'read' | 'write', name: keyof BenchmarkIo, title: string): Column => ({
  name: `${way} ${name}`,
  title: `${way} ${title}`,
  cell: (row: Row) => <Value name={name} value={(row[way] as BenchmarkIo)[name]} />,
})

const COLUMNS = [
  columnOf('started_at', 'began'),
  columnOf('type'),
  columnOf('target'),
  columnOf('profile'),
  columnOf('status'),
  figure('read', 'iops', 'a second'),
  figure('read', 'bandwidth_mbps', 'MiB/s'),
  figure('read', 'latency_p99_us', 'p99 µs'),
  figure('write', 'iops', 'a second'),
  figure('write', 'bandwidth_mbps', 'MiB/s'),
  figure('write', 'latency_p99_us', 'p99 µs'),
  columnOf('error', 'why it failed'),
]

export function Benchmarks({ node }: NodeProps) {
  return <AskedNode node={node}>{(address) => <Results address={address} />}</AskedNode>
}

function Results({ address }: { address: string }) {
  const query = useNodeCall('benchmarkResultList', address, { query: { page_size: 100 } })
  return (
    <>
      <OperationButtons
        operations={['benchmarkDiskRun', 'benchmarkPoolRun', 'benchmarkBlockImageRun'].map((operation) => ({
          operation,
          node: address,
        }))}
      />
      <Panel title="Benchmarks" query={query}>
        {({ results }) => (
          <Table
            label="Benchmarks of the node"
            rows={results}
            columns={COLUMNS}
            empty="Nothing was measured on this node yet."
            actions={({ id, status }) =>
              status === 'running' && (
                <OperationButtons
                  operations={[
                    { operation: 'benchmarkCancel', label: 'Cancel', node: address, given: { id: String(id) } },
                  ]}
                />
              )
            }
          />
        )}
      </Panel>
    </>
  )
}

// Disks of a node with what SMART says of them; and its storage as a whole with the local pools.
import type { Disk } from '#src/contract/storage/host.ts'
import { useNodeCall } from '../../api/queries.ts'
import { type Column, columnOf, type Row } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { State, Value } from '../../lists/value.tsx'
import { Facts, Panel } from '../panel.tsx'
import { AskedNode, Missing } from './asked-node.tsx'
import type { NodeProps } from './node.ts'

const smart = (name: keyof NonNullable<Disk['smart_info']>, title: string): Column => ({
  name,
  title,
  cell: (row: Row) => <Value name={name} value={(row as unknown as Disk).smart_info?.[name]} />,
})

const DISK_COLUMNS: readonly Column[] = [
  columnOf('device'),
  columnOf('model'),
  columnOf('serial'),
  columnOf('type'),
  columnOf('size_mb', 'size'),
  columnOf('allocated_to', 'used by'),
  {
    name: 'verdict',
    title: 'verdict',
    cell: (row: Row) => {
      const { smart_info } = row as unknown as Disk
      return (
        <>
          <State text={smart_info?.status} /> {smart_info?.status_reason.join(' ')}
        </>
      )
    },
  },
  smart('temperature', '°C'),
  smart('wear_level_percent', 'wear %'),
  smart('power_on_hours', 'hours'),
]

export function Disks(props: NodeProps) {
  return <AskedNode {...props}>{(address) => <DiskList address={address} />}</AskedNode>
}

function DiskList({ address }: { address: string }) {
  const query = useNodeCall('hostDiskList', address, { query: { page_size: 500 } })
  return (
    <Panel title="Disks" query={query}>
      {({ disks, unavailable }) => (
        <>
          {disks === null ? (
            <p>The disks are not known.</p>
          ) : (
            <Table label="Disks of the node" rows={disks} columns={DISK_COLUMNS} empty="The node has no disk." />
          )}
          <Missing unavailable={unavailable} />
        </>
      )}
    </Panel>
  )
}

const POOL_COLUMNS = [
  columnOf('pool_name', 'pool'),
  columnOf('health'),
  columnOf('total_space_mb', 'size'),
  columnOf('used_space_mb', 'used'),
  columnOf('available_space_mb', 'free'),
  columnOf('fragmentation_percent', 'fragmented %'),
  columnOf('errors_count', 'errors'),
]

export function Storage(props: NodeProps) {
  return <AskedNode {...props}>{(address) => <StorageOf address={address} />}</AskedNode>
}

function StorageOf({ address }: { address: string }) {
  const health = useNodeCall('hostStorageHealth', address)
  const metrics = useNodeCall('hostStorageMetrics', address)
  const store = useNodeCall('clusterstoreStatus', address)
  return (
    <div className="panels">
      <Panel title="Storage health" query={health}>
        {({
          overall_status,
          overall_status_meaning,
          overall_status_reasons,
          localpool_health,
          clusterstore_health,
        }) => (
          <>
            <p>
              <State text={overall_status} /> {overall_status_meaning}
            </p>
            <ul>
              {overall_status_reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
            <Facts thing={{ local_pools: localpool_health, cluster_store: clusterstore_health }} />
          </>
        )}
      </Panel>
      <Panel title="Local pools" query={metrics}>
        {({ total_storage_capacity_mb, total_storage_used_mb, localpool_subsystem: { pools } }) => (
          <>
            <Facts thing={{ capacity_mb: total_storage_capacity_mb, used_mb: total_storage_used_mb }} />
            {pools === null ? (
              <p>The pools are not known.</p>
            ) : (
              <Table label="Pools" rows={pools} columns={POOL_COLUMNS} empty="The node has no local pool." />
            )}
          </>
        )}
      </Panel>
      <Panel title="Cluster store" query={store}>
        {({ message, osd_count, pool_count, device_classes, unavailable }) => (
          <>
            <p>{message}</p>
            <Facts thing={{ storage_daemons: osd_count, pools: pool_count, classes: device_classes?.join(', ') }} />
            <Missing unavailable={unavailable} />
          </>
        )}
      </Panel>
    </div>
  )
}

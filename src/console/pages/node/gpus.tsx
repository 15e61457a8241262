// GPUs of a node as the platform knows them.
import { useCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Loaded, Panel } from '../panel.tsx'
import type { NodeProps } from './node.ts'

const COLUMNS = [
  columnOf('bus_address', 'bus'),
  columnOf('card_name', 'card'),
  columnOf('type'),
  columnOf('state'),
  columnOf('managed_state', 'managed'),
  columnOf('profile_name', 'profile'),
  columnOf('virtual_machine_name', 'machine'),
]

export function Gpus({ node }: NodeProps) {
  const hosts = useCall('hostList', { query: { keyword: node.hostname ?? node.fqdn ?? node.bmc_ip, page_size: 100 } })
  return (
    <Loaded query={hosts}>
      {(answer) => {
        const host = answer.hosts.find(({ name }) => name === node.fqdn || name === node.hostname)
        return host === undefined ? (
          <p>The platform has no host of this name, so it knows no GPU of it.</p>
        ) : (
          <GpusOf host_id={host.id} />
        )
      }}
    </Loaded>
  )
}

function GpusOf({ host_id }: { host_id: string }) {
  const query = useCall('gpuDeviceList', { body: { host_id, page_size: 500 } })
  return (
    <>
      <OperationButtons
        operations={['gpuDeviceDiscover', 'gpuDeviceConvert', 'gpuDeviceRepin', 'vgpuProfileSync'].map((operation) => ({
          operation,
          given: { host_id },
        }))}
      />
      <Panel title="GPUs" query={query}>
        {({ gpu_devices }) => (
          <Table
            label="GPUs of the node"
            rows={gpu_devices}
            columns={COLUMNS}
            empty="The platform knows no GPU of this node."
          />
        )}
      </Panel>
    </>
  )
}

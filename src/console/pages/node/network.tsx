// Network of a node: its NICs, whose LEDs can be made to blink, and what its kernel says of links, clock and errors.
import { useCall, useNodeCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Facts, Panel } from '../panel.tsx'
import { AskedNode, Missing } from './asked-node.tsx'
import type { NodeProps } from './node.ts'

const NIC_COLUMNS = [
  columnOf('interfaceName', 'NIC'),
  columnOf('linkStatus', 'link'),
  columnOf('speed'),
  columnOf('macAddress', 'MAC'),
  columnOf('ipAddress', 'address'),
  columnOf('driver'),
  columnOf('pciAddress', 'PCI'),
  columnOf('bondMaster', 'bond'),
  columnOf('isManagementNIC', 'management'),
]

const BRIDGE_COLUMNS = [columnOf('name'), columnOf('state'), columnOf('mtu', 'MTU')]

export function NodeNetwork({ node }: NodeProps) {
  const nics = useCall('nodeNicsList', { params: { bmcIP: node.bmc_ip } })
  return (
    <>
      <Panel title="NICs" query={nics}>
        {(answer) => (
          <Table
            label="NICs of the node"
            rows={answer.nics}
            columns={NIC_COLUMNS}
            actions={({ interfaceName, isPhysical }) =>
              isPhysical === true && (
                <OperationButtons
                  operations={[
                    {
                      operation: 'nodeNicBlink',
                      label: 'Blink LED',
                      given: { nodeIP: node.bmc_ip, interfaceName: String(interfaceName) },
                    },
                  ]}
                />
              )
            }
          />
        )}
      </Panel>
      <AskedNode node={node}>{(address) => <Snapshot address={address} />}</AskedNode>
    </>
  )
}

function Snapshot({ address }: { address: string }) {
  const query = useNodeCall('nodeSummary', address)
  return (
    <Panel title="As its kernel says" query={query}>
      {(net) => (
        <>
          <Facts
            thing={{
              default_gateway: net.default_gateway,
              through: net.default_gateway_dev,
              clock_in_step: net.ntp_synced,
              clock_offset_ms: net.ntp_offset_ms,
              clock_source: net.ntp_source,
              links_up: net.links_up,
              links_down: net.links_down,
              packet_errors: net.total_packet_errors,
              packet_drops: net.total_packet_drops,
              vlans: net.active_vlan_count,
              vxlans: net.active_vxlan_count,
            }}
          />
          <Table label="Bridges" rows={net.main_bridges} columns={BRIDGE_COLUMNS} empty="The node has no bridge." />
          <Missing unavailable={net.unavailable} />
        </>
      )}
    </Panel>
  )
}

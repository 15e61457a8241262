// One node: what it is and what is done to it, its parts each at an address of its own.
import type { ReactNode } from 'react'
import { useCall } from '../../api/queries.ts'
import { State, Time } from '../../lists/value.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Facts, Loaded } from '../panel.tsx'
import { Tabs } from '../tabs.tsx'
import { Benchmarks } from './benchmarks.tsx'
import { Decommission } from './decommission.tsx'
import { Gpus } from './gpus.tsx'
import { Hardware } from './hardware.tsx'
import { Health } from './health.tsx'
import { Life } from './life.tsx'
import { NodeNetwork } from './network.tsx'
import { hrefOfNode, type NodeProps } from './node.ts'
import { Disks, Storage } from './storage.tsx'

const TABS: readonly { path: string; title: string; shows: (props: NodeProps) => ReactNode }[] = [
  { path: '', title: 'Health', shows: Health },
  { path: 'disks', title: 'Disks', shows: Disks },
  { path: 'network', title: 'Network', shows: NodeNetwork },
  { path: 'storage', title: 'Storage', shows: Storage },
  { path: 'gpus', title: 'GPUs', shows: Gpus },
  { path: 'benchmarks', title: 'Benchmarks', shows: Benchmarks },
  { path: 'life', title: 'Life', shows: Life },
  { path: 'decommission', title: 'Decommission', shows: Decommission },
  { path: 'hardware', title: 'Hardware', shows: Hardware },
  { path: 'record', title: 'Record', shows: Registered },
]

export function NodePage({ bmc, part = '' }: { bmc: string; part?: string | undefined }) {
  const query = useCall('nodeGet', { params: { bmcIP: bmc } })
  const tab = TABS.find(({ path }) => path === part)
  return (
    <>
      <h1>{query.data?.fqdn ?? bmc}</h1>
      <Loaded query={query}>
        {(node) => (
          <>
            <p>
              <State text={node.status} /> <State text={node.provision_status} /> BMC {bmc}
              {node.node_ip !== null && `, address ${node.node_ip}`}
              {node.agent.seen_at !== null && (
                <>
                  , agent seen <Time at={node.agent.seen_at} />
                </>
              )}
            </p>
            <Tabs
              label="Parts of the node"
              tabs={TABS.map(({ path, title }) => ({ href: hrefOfNode(bmc, path), title }))}
            />
            {tab === undefined ? <p>A node has no part {part}.</p> : <tab.shows node={node} />}
          </>
        )}
      </Loaded>
    </>
  )
}

function Registered({ node }: NodeProps) {
  const given = { bmcIP: node.bmc_ip }
  const reported = node.reported_since === null ? 'Its agent reports what is confirmed.' : null
  const token = { label: 'New enrolment token', given: { bmc_ip: node.bmc_ip } }
  return (
    <>
      <OperationButtons
        operations={[
          { operation: 'nodeReportAccept', label: 'Accept what its agent reports', given, why: reported },
          { operation: 'nodeEnrolmentTokenCreate', ...token },
          { operation: 'nodeDelete', label: 'Delete from registry', given, confirm: node.fqdn ?? node.bmc_ip },
        ]}
      />
      <Facts thing={node} />
    </>
  )
}

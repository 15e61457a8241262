// The life of a node: what is done to it now as a runbook with the next step, what was done before, and what can be begun.
import type { Job } from '#src/contract/jobs.ts'
import type { NodeState } from '#src/contract/nodes/registry.ts'
import { Link } from 'wouter'
import { useCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { Runbook } from '../runbook.tsx'
import type { ThingOperation } from '../../form/operation-form.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Loaded, Panel } from '../panel.tsx'
import { hrefOfNode, type NodeProps } from './node.ts'

/** What the ledger calls the jobs of a node's life. */
const LIFE = ['setup', 'decommission', 'rollback', 'provision', 'reveal']
const SHOWN = 20

const COLUMNS = [
  {
    name: 'job_type',
    title: 'job',
    cell: ({ id, job_type }: Record<string, unknown>) => <Link href={`/jobs/${String(id)}`}>{String(job_type)}</Link>,
  },
  columnOf('job_status', 'state'),
  { name: 'status', title: 'now', cell: ({ status }: Record<string, unknown>) => <>{String(status)}</> },
  columnOf('created_at', 'began'),
  columnOf('updated_at', 'changed'),
]

export function Life({ node }: NodeProps) {
  const query = useCall('jobList', { query: { node_ip: node.bmc_ip, page_size: SHOWN } })
  return (
    <>
      <Begin node={node} />
      <Panel title="Jobs of this node" query={query}>
        {({ jobs }) => {
          const latest = jobs.find(({ job_type }) => LIFE.includes(job_type))
          return (
            <>
              {latest !== undefined && <Latest node={node} job={latest} />}
              <h2>All jobs</h2>
              <Table
                label="Jobs of the node"
                rows={jobs}
                columns={COLUMNS}
                empty="Nothing was done to this node yet."
              />
            </>
          )
        }}
      </Panel>
    </>
  )
}

function Begin({ node }: NodeProps) {
  const state = node.provision_status as NodeState
  const given = { nodeIP: node.bmc_ip, bmc_ip: node.bmc_ip }
  const is_in = (...states: NodeState[]): string | null =>
    states.includes(state) ? null : `The node is ${state}; it must be ${states.join(' or ')}.`
  return (
    <>
      <p>
        The node is <strong>{state}</strong>.
      </p>
      <OperationButtons
        operations={[
          { operation: 'nodePreflight', label: 'Show what a setup would use', given: { bmcIP: node.bmc_ip } },
          {
            operation: 'nodeSetupStart',
            label: 'Set up',
            given,
            why: is_in('discovered', 'configure_failed', 'provision_failed'),
          },
          {
            operation: 'rollbackStart',
            label: 'Roll back',
            given,
            confirm: node.fqdn ?? node.bmc_ip,
            why: is_in('configure_failed', 'rolling_back'),
          },
        ]}
      />
      <p>
        <Link href={hrefOfNode(node.bmc_ip, 'decommission')}>Take it out of service</Link>
      </p>
    </>
  )
}

function Latest({ node, job }: NodeProps & { job: Job }) {
  const query = useCall('jobGet', { params: { id: job.id } })
  return (
    <section aria-label={`Latest: ${job.job_type}`}>
      <h2>Latest: {job.job_type}</h2>
      {(job.job_type === 'decommission' || job.job_type === 'rollback') && <NextStep node={node} job={job} />}
      <Loaded query={query}>{(detail) => <Runbook job={detail} />}</Loaded>
    </section>
  )
}

function NextStep({ node, job }: NodeProps & { job: Job }) {
  const operation = job.job_type === 'decommission' ? 'decommissionStatus' : 'rollbackStatus'
  const query = useCall(operation, { params: { nodeIP: node.bmc_ip }, body: { job_id: job.id } })
  return (
    <Loaded query={query}>
      {({ next_action }) => {
        const [action = '', ...sentence] = next_action.split(': ')
        if (action === '') return <p>Nothing is left to do.</p>
        const mend = mendingOf(action, node.bmc_ip, node.fqdn ?? node.bmc_ip, job)
        return (
          <div role="status" className="next">
            <strong>Next: {NEXT[action] ?? action}</strong> {sentence.join(': ')}
            {mend.length > 0 && <OperationButtons operations={mend} />}
          </div>
        )
      }}
    </Loaded>
  )
}

const NEXT: Readonly<Record<string, string>> = {
  wait: 'wait, it goes on by itself.',
  retry: 'try again.',
  retry_with_force: 'try again, and name the machines that may be lost.',
  rollback: 'roll back, or set up again.',
  decommission: 'decommission the node first.',
  confirm_wipe: 'say what became of the disks.',
  manual: 'a person must look.',
}

function mendingOf(action: string, bmc_ip: string, name: string, job: Job): ThingOperation[] {
  const given = { nodeIP: bmc_ip }
  const again = job.job_type === 'decommission' ? 'decommissionRetry' : 'rollbackStart'
  switch (action) {
    case 'retry':
      return [{ operation: again, label: 'Try again', given }]
    case 'retry_with_force':
      return [{ operation: again, label: 'Try again with force', given: { ...given, force: 'true' }, confirm: name }]
    case 'rollback':
      return [{ operation: 'rollbackStart', label: 'Roll back', given, confirm: name }]
    case 'confirm_wipe':
      return [{ operation: 'decommissionWipeConfirm', label: 'Confirm wipe', given }]
    case 'wait':
      return job.job_type === 'decommission'
        ? [{ operation: 'decommissionCancel', label: 'Cancel decommission', given }]
        : []
    default:
      return []
  }
}

// The NVR as a machine of the platform: its state, what is next, its creation with the first camera, and its password.
import { useCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { State } from '../../lists/value.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Facts, Panel } from '../panel.tsx'
import { Link } from 'wouter'

export function Nvr() {
  const nvr = useCall('nvrGet', {})
  const template = useCall('nvrTemplateGet', {})
  return (
    <>
      <Panel title="NVR" query={nvr}>
        {(found) =>
          found === null ? (
            <>
              <p>There is no NVR yet.</p>
              <OperationButtons
                operations={[{ operation: 'nvrInitialize', label: 'Create NVR with its first camera' }]}
              />
            </>
          ) : (
            <>
              <p>
                <State text={found.state} /> {found.error_message}
              </p>
              {found.next_action !== '' && <p className="next">Next: {found.next_action}</p>}
              {found.job_id !== null && (
                <p>
                  <Link href={`/jobs/${found.job_id}`}>Its job</Link>
                </p>
              )}
              <OperationButtons
                operations={[
                  {
                    operation: 'nvrRetry',
                    label: 'Try again',
                    why: found.state === 'failed' ? null : `The NVR is ${found.state}; it must be failed.`,
                  },
                  { operation: 'nvrPasswordRotate', label: 'Change admin password' },
                  { operation: 'nvrPasswordVerify', label: 'Check admin password' },
                  {
                    operation: 'nvrPasswordAcknowledge',
                    label: 'The password is recorded',
                    why: found.admin_password_acknowledged ? 'This was said already.' : null,
                  },
                  { operation: 'nvrDelete', label: 'Delete', given: { confirm: found.id }, confirm: found.name },
                ]}
              />
              <Facts
                thing={{
                  name: found.name,
                  version: found.nvr_version,
                  address: found.vm_ip_address,
                  cores: found.cores,
                  memory_mb: found.memory_mb,
                  gpus: found.gpu_count,
                  machine: found.vm_id,
                  created_at: found.created_at,
                }}
              />
              <Statistics />
            </>
          )
        }
      </Panel>
      <Panel title="Template" query={template}>
        {({ state, message, template_name }) => (
          <>
            <p>
              <State text={state} /> {template_name} {message}
            </p>
            <OperationButtons
              operations={[
                {
                  operation: 'nvrTemplateRegister',
                  label: 'Register template',
                  why: state === 'ready' ? 'It is there.' : null,
                },
              ]}
            />
          </>
        )}
      </Panel>
    </>
  )
}

const STORAGE_COLUMNS = [columnOf('name', 'what'), columnOf('total'), columnOf('used'), columnOf('free')]

function Statistics() {
  const query = useCall('cameraStatsGet', {})
  return (
    <Panel title="How it does" query={query}>
      {({ storage, uptime_s, detectors }) => (
        <>
          <Facts thing={{ seconds_since_its_start: uptime_s, detectors: Object.keys(detectors).join(', ') }} />
          <Table
            label="Storage of the NVR, in MB"
            rows={Object.entries(storage).map(([name, figures]) => ({ name, ...figures }))}
            columns={STORAGE_COLUMNS}
          />
        </>
      )}
    </Panel>
  )
}

// The machine of a node through its BMC or remote KVM: power, inventory, firmware settings, media and the BMC's own jobs.
import { useState } from 'react'
import type { BmcInventory } from '#src/contract/bmc/machine.ts'
import { call } from '../../api/call.ts'
import { useCall } from '../../api/queries.ts'
import { whyNot } from '../../api/why-not.ts'
import { Problem } from '../../form/problem.tsx'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { State, Time } from '../../lists/value.tsx'
import { useMe } from '../../session/session.ts'
import { OperationButtons } from '../operation-buttons.tsx'
import { Facts, Panel } from '../panel.tsx'
import type { NodeProps } from './node.ts'

export function Hardware({ node }: NodeProps) {
  const name = node.fqdn ?? node.bmc_ip
  return (
    <div className="panels">
      <Power bmc_ip={node.bmc_ip} name={name} />
      <Inventory bmc_ip={node.bmc_ip} />
      <Bios bmc_ip={node.bmc_ip} name={name} />
      <BmcJobs bmc_ip={node.bmc_ip} name={name} />
      <RemoteKvm kvm_ip={node.bmc_ip} name={name} />
    </div>
  )
}

interface MachineProps {
  bmc_ip: string
  name: string
}

/** What may lose data of a running machine. */
const HARD = /^(Force(Off|Restart)|PowerCycle|Nmi|PushPowerButton)$/

function Power({ bmc_ip, name }: MachineProps) {
  const query = useCall('bmcPowerGet', { body: { bmc_ip, include_options: true } })
  const media = { given: { bmc_ip }, confirm: name }
  return (
    <Panel title="Power" query={query}>
      {({ power_on, power_state, message, power_options = [], observed_at }) => (
        <>
          <p>
            <State text={power_state} /> {message} <Time at={observed_at} />
          </p>
          <OperationButtons
            operations={power_options.map((reset_type) => ({
              operation: 'bmcPowerSet',
              label: reset_type,
              given: { bmc_ip, reset_type },
              confirm: HARD.test(reset_type) ? name : undefined,
              why: isSoAlready(reset_type, power_on),
            }))}
          />
          <OperationButtons operations={[{ operation: 'bmcIsoMount', label: 'Boot from virtual media', ...media }]} />
        </>
      )}
    </Panel>
  )
}

function isSoAlready(reset_type: string, power_on: boolean | null): string | null {
  if (power_on === true && reset_type.endsWith('On')) return 'The machine is on.'
  return power_on === false && !/On$|Push/.test(reset_type) ? 'The machine is off.' : null
}

function Inventory({ bmc_ip }: { bmc_ip: string }) {
  const why = whyNot(useMe(), 'bmcInventoryCollect')
  const [found, setFound] = useState<BmcInventory>()
  const [problem, setProblem] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const collect = async (): Promise<void> => {
    if (why !== null || busy) return
    setBusy(true)
    setProblem(undefined)
    try {
      setFound(await call('bmcInventoryCollect', { body: { bmc_ip } }))
    } catch (error) {
      setProblem(error)
    }
    setBusy(false)
  }
  return (
    <section className="panel" aria-label="Inventory">
      <h2>Inventory</h2>
      <div className="actions">
        <button type="button" aria-disabled={why !== null || busy} onClick={() => void collect()}>
          {busy ? 'Reading the BMC …' : 'Read from the BMC'}
          {why !== null && <small>{why}</small>}
        </button>
      </div>
      {problem !== undefined && <Problem error={problem} />}
      {found !== undefined && <Parts found={found} />}
    </section>
  )
}

const PART_COLUMNS = ['model', 'name', 'serial', 'version', 'slot', 'health'].map((name) => columnOf(name))

function Parts({ found }: { found: BmcInventory }) {
  const parts = {
    Processors: found.cpu,
    Memory: found.memory.dimms,
    Drives: found.drives,
    GPUs: found.gpu,
    'Power supplies': found.psu,
    Firmware: found.firmware,
  }
  const unread = found.branches.filter(({ status }) => status === 'unavailable')
  return (
    <>
      {unread.map(({ name, reason }) => (
        <p key={name} className="error">
          {name}: {reason}
        </p>
      ))}
      <Facts thing={{ ...found.system, memory_gib: found.memory.total_gib, bmc_firmware: found.manager.firmware }} />
      {Object.entries(parts).map(([title, rows]) => (
        <details key={title}>
          <summary>
            {rows.length} {title}
          </summary>
          <Table
            label={title}
            rows={rows}
            columns={PART_COLUMNS.filter(({ name }) => rows.some((row) => name in row))}
          />
        </details>
      ))}
    </>
  )
}

const BIOS_COLUMNS = [
  columnOf('name', 'setting'),
  columnOf('current_value', 'now'),
  columnOf('pending_value', 'after a restart'),
]

function Bios({ bmc_ip, name }: MachineProps) {
  const query = useCall('bmcBiosGet', { body: { bmc_ip } })
  const given = { bmc_ip }
  return (
    <Panel title="Firmware settings" query={query}>
      {({ bios_options }) => (
        <>
          <OperationButtons
            operations={[
              { operation: 'bmcBiosSet', label: 'Change settings', given },
              { operation: 'bmcRestart', label: 'Restart to apply', given, confirm: name },
              { operation: 'bmcFirmwareUpdate', label: 'Update firmware', given, confirm: name },
            ]}
          />
          <details>
            <summary>{bios_options.length} settings</summary>
            <Table label="Firmware settings" rows={bios_options} columns={BIOS_COLUMNS} />
          </details>
        </>
      )}
    </Panel>
  )
}

const JOB_COLUMNS = [columnOf('name', 'job'), columnOf('state'), columnOf('percent', '%'), columnOf('message')]

function BmcJobs({ bmc_ip, name }: MachineProps) {
  const query = useCall('bmcJobsList', { body: { bmc_ip, detail: true } })
  return (
    <Panel title="Jobs of the BMC" query={query}>
      {({ details = [] }) => (
        <>
          <Table label="Jobs of the BMC" rows={details} columns={JOB_COLUMNS} />
          <OperationButtons
            operations={[{ operation: 'bmcJobsDelete', label: 'Delete all', given: { bmc_ip }, confirm: name }]}
          />
        </>
      )}
    </Panel>
  )
}

/** A device is one or the other; the KVM is asked when somebody wants it, because asking takes its time. */
function RemoteKvm({ kvm_ip, name }: { kvm_ip: string; name: string }) {
  const [asked, setAsked] = useState(false)
  const query = useCall('kvmPowerGet', { query: { kvm_ip } }, asked)
  if (!asked) {
    return (
      <section className="panel" aria-label="Remote KVM">
        <h2>Remote KVM</h2>
        <button type="button" onClick={() => setAsked(true)}>
          This address is a remote KVM: ask it
        </button>
      </section>
    )
  }
  return (
    <Panel title="Remote KVM" query={query}>
      {({ message, status, hdd_active }) => (
        <>
          <p>
            <State text={status} /> {message}
          </p>
          <Facts thing={{ disk_led: hdd_active }} />
          <OperationButtons
            operations={[
              { operation: 'kvmReveal', label: 'Discover hardware', given: { kvmIP: kvm_ip } },
              { operation: 'kvmProvision', label: 'Install', given: { bmc_ip: kvm_ip }, confirm: name },
            ]}
          />
        </>
      )}
    </Panel>
  )
}

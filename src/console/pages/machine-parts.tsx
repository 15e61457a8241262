// Disks, NICs, snapshots and settings of a virtual machine, each with what can be done with it.
import type { ReactNode } from 'react'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import type { Action, Target } from '../form/action.ts'
import { State, Time, Value } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Actions } from './actions.tsx'
import {
  DISK_ACTIONS, diskTarget, NIC_ACTIONS, nicTarget, SNAPSHOT_ACTIONS, snapshotTarget, TAB_ACTIONS, targetOf,
} from './machine-actions.ts' // biome-ignore format: one list
import { PathTo } from './machine-path.tsx'
import { Facts, Loaded } from './panel.tsx'
import { Published } from './publish.tsx'

interface Props {
  machine: VirtualMachine
}

const GIB = 1024 ** 3

export function Disks({ machine }: Props) {
  const query = useCall('volumeList', { body: { virtual_machine_id: machine.id, page_size: 500 } })
  return (
    <>
      <Actions actions={TAB_ACTIONS.disks} target={targetOf(machine)} />
      {machine.iso_name !== null && <p>In the CD drive: {machine.iso_name}</p>}
      <Loaded query={query}>
        {({ volumes }) => (
          <Parts
            label="Disks"
            head={['disk', 'state', 'size', 'slot', 'offering', 'storage']}
            rows={volumes.map((disk) => ({
              target: diskTarget(disk, machine),
              cells: [
                `${disk.name}${disk.type === 'ROOT' ? ' (root)' : ''}`,
                <State text={disk.state} />,
                disk.size_bytes === null ? '–' : `${Math.round((disk.size_bytes / GIB) * 10) / 10} GiB`,
                <Value name="slot" value={disk.device_id} />,
                disk.disk_offering_name,
                disk.storage_name,
              ],
            }))}
            actions={DISK_ACTIONS}
          />
        )}
      </Loaded>
    </>
  )
}

export function Network({ machine }: Props) {
  const query = useCall('vmNicList', { body: { virtual_machine_id: machine.id, page_size: 500 } })
  return (
    <>
      <Actions actions={TAB_ACTIONS.network} target={targetOf(machine)} />
      <PathTo machine={machine} />
      <Loaded query={query}>
        {({ nics }) => (
          <Parts
            label="NICs"
            head={['address', 'network', 'MAC', 'gateway', 'MTU', 'further addresses']}
            rows={nics.map((nic) => ({
              target: nicTarget(nic, machine),
              cells: [
                `${nic.ip_address ?? '–'}${nic.is_default === true ? ' (default)' : ''}`,
                nic.network_name,
                nic.mac_address,
                nic.gateway,
                <Value name="mtu" value={nic.mtu} />,
                nic.secondary_ips.map(({ ip_address }) => ip_address).join(', ') || 'none',
              ],
            }))}
            actions={NIC_ACTIONS}
          />
        )}
      </Loaded>
      <Published machine={machine} />
    </>
  )
}

export function Snapshots({ machine }: Props) {
  const query = useCall('vmSnapshotList', { body: { virtual_machine_id: machine.id, page_size: 500 } })
  return (
    <>
      <Actions actions={TAB_ACTIONS.snapshots} target={targetOf(machine)} />
      <Loaded query={query}>
        {({ vm_snapshots }) => (
          <Parts
            label="Snapshots"
            head={['snapshot', 'state', 'memory', 'made after', 'made at']}
            rows={vm_snapshots.map((one) => {
              const parent = vm_snapshots.find(({ id }) => id === one.parent_id)
              return {
                target: snapshotTarget(one, machine),
                cells: [
                  `${one.display_name ?? one.name}${one.is_current === true ? ' (the machine stands on it)' : ''}`,
                  <State text={one.state} />,
                  one.type === 'DiskAndMemory' ? 'with memory' : 'disks only',
                  parent?.display_name ?? parent?.name,
                  one.created_at === null ? '–' : <Time at={one.created_at} />,
                ],
              }
            })}
            actions={SNAPSHOT_ACTIONS}
          />
        )}
      </Loaded>
    </>
  )
}

export function Settings({ machine }: Props) {
  const why = whyNot(useMe(), 'vmSettingsGet')
  const query = useCall('vmSettingsGet', { body: { virtual_machine_id: machine.id } }, why === null)
  return (
    <>
      <Actions actions={SETTINGS_ACTIONS} target={targetOf(machine)} />
      {why === null ? <Loaded query={query}>{(settings) => <Facts thing={settings} />}</Loaded> : <p>{why}</p>}
    </>
  )
}

const SETTINGS_ACTIONS: readonly Action[] = [
  { operation: 'vmTpmConfigure', label: 'Firmware and TPM', weight: 'interrupts', effect: 'will start with this firmware.' },
  { operation: 'vmAffinityUpdate', label: 'Affinity groups', weight: 'interrupts', effect: 'will be in these groups alone.' },
  { operation: 'vmUserDataReset', label: 'User data', weight: 'interrupts', effect: 'will read this at its next start.' },
] // biome-ignore format: a table

interface PartsProps {
  label: string
  head: readonly string[]
  rows: readonly { target: Target; cells: readonly ReactNode[] }[]
  actions: readonly Action[]
}

function Parts({ label, head, rows, actions }: PartsProps) {
  if (rows.length === 0) return <p className="empty">There are none.</p>
  return (
    <div className="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {[...head, 'actions'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ target, cells }) => (
            <tr key={target.id}>
              {cells.map((cell, at) => (
                <td key={head[at]} data-title={head[at]}>
                  {cell ?? '–'}
                </td>
              ))}
              <td data-title="actions">
                <Actions actions={actions} target={target} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

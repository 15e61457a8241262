// Virtual machines with their disks, NICs, snapshots and settings, and the infrastructure that they run on.
import { affinityGroups } from '#src/contract/compute/affinity-groups.ts'
import { vmDisks } from '#src/contract/compute/disks.ts'
import { vmGuests } from '#src/contract/compute/guests.ts'
import { computeHooks } from '#src/contract/compute/hooks.ts'
import { backups } from '#src/contract/compute/backups.ts'
import { projects } from '#src/contract/compute/projects.ts'
import { images } from '#src/contract/compute/images.ts'
import { vmInventory } from '#src/contract/compute/inventory.ts'
import { vmMetrics } from '#src/contract/compute/metrics.ts'
import { vmMoves, vmSnapshots } from '#src/contract/compute/moves.ts'
import { vmNics } from '#src/contract/compute/nics.ts'
import { vmSettings } from '#src/contract/compute/settings.ts'
import { vms } from '#src/contract/compute/vms.ts'
import { sshKeys } from '#src/contract/compute/ssh-keys.ts'
import { userData } from '#src/contract/compute/user-data.ts'
import { volumeSnapshots } from '#src/contract/compute/volume-snapshots.ts'
import { infrastructure } from '#src/contract/infrastructure.ts'
import { bindJob } from '#src/jobs/define.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { platformRows } from '../platform-rows.ts'
import { platformSource, tableSource } from '../search-source.ts'
import { affinityGroupHandlers } from './affinity-groups.ts'
import { computeCall } from './call.job.ts'
import { vmDiskCreateJob } from './disk-create.job.ts'
import { vmDiskHandlers } from './disks.ts'
import { vmGuestHandlers } from './guests.ts'
import { computeHookReceive } from './hook.ts'
import { backupHandlers } from './backups.ts'
import { imageHandlers } from './images.ts'
import { projectHandlers } from './projects.ts'
import {
  clusterList,
  hostList,
  isoList,
  osTypeList,
  serviceOfferingList,
  templateList,
  zoneList,
} from './infrastructure.ts'
import { vmInventoryHandlers } from './inventory.ts'
import { vmMetricsAggregate } from './metrics.ts'
import { vmMoveHandlers } from './moves.ts'
import { vmNicHandlers } from './nics.ts'
import { vmProvisionJob } from './provision.job.ts'
import { vmProvision } from './provision.ts'
import { vmSettingsHandlers } from './settings.ts'
import { createStateWatcher, type StateWatcher } from './state-watcher.ts'
import { vmUsageGet, vmUsageList } from './usage.ts'
import { vmGet, vmGetByName, vmIdGet, vmList } from './vm-list.ts'
import { vmRows } from './vm-rows.ts'
import { vmSnapshotHandlers } from './vm-snapshots.ts'
import { sshKeyHandlers } from './ssh-keys.ts'
import { userDataHandlers } from './user-data.ts'
import { volumeSnapshotHandlers } from './volume-snapshots.ts'

export function computeModule(parts: Parts): Module {
  const { cloudstack } = parts
  const watcher = stateWatcher(parts)
  return {
    areas: [
      serve(vms, {
        ...platformRows(vms, parts, vmRows(cloudstack)),
        vmProvision: vmProvision(parts),
        vmList: vmList(cloudstack),
        vmGet: vmGet(cloudstack),
        vmGetByName: vmGetByName(cloudstack),
        vmIdGet: vmIdGet(cloudstack),
        isoList: isoList(cloudstack),
      }),
      serve(vmMetrics, {
        vmMetricsAggregate: vmMetricsAggregate(cloudstack),
        vmUsageList: vmUsageList(cloudstack),
        vmUsageGet: vmUsageGet(cloudstack),
      }),
      serve(vmDisks, vmDiskHandlers(parts)),
      serve(vmNics, vmNicHandlers(parts)),
      serve(vmMoves, vmMoveHandlers(parts)),
      serve(vmSnapshots, vmSnapshotHandlers(parts)),
      serve(volumeSnapshots, volumeSnapshotHandlers(parts)),
      serve(affinityGroups, affinityGroupHandlers(parts)),
      serve(sshKeys, sshKeyHandlers(parts)),
      serve(userData, userDataHandlers(parts)),
      serve(images, imageHandlers(parts)),
      serve(projects, projectHandlers(cloudstack)),
      serve(backups, backupHandlers(cloudstack)),
      serve(vmGuests, vmGuestHandlers(parts)),
      serve(vmSettings, vmSettingsHandlers(parts)),
      serve(vmInventory, vmInventoryHandlers(parts)),
      serve(infrastructure, {
        zoneList: zoneList(cloudstack),
        clusterList: clusterList(cloudstack),
        hostList: hostList(cloudstack),
        templateList: templateList(cloudstack),
        osTypeList: osTypeList(cloudstack),
        serviceOfferingList: serviceOfferingList(cloudstack),
      }),
      serve(computeHooks, { computeHookReceive: computeHookReceive(hookDeps(parts, watcher)) }),
    ],
    jobs: [bindJob(computeCall, parts), bindJob(vmProvisionJob, parts), bindJob(vmDiskCreateJob, parts)],
    watchers: [watcher],
    search: [
      tableSource(parts.database, 'vm', vms, 'vmGet', (id) => ({ body: { virtual_machine_id: id } })),
      platformSource(
        cloudstack,
        'volume',
        vmDisks,
        'volumeList',
        { command: 'listVolumes', key: 'volume', name: 'name', words: ['name', 'id'] },
        (id) => ({ body: { id } }),
      ),
    ],
  }
}

function stateWatcher({ config, cloudstack, database, log, background }: Parts): StateWatcher {
  const { events_poll_ms, states_poll_ms, hook_secret } = config.compute
  const hook = { public_url: config.public_url, hook_secret }
  return createStateWatcher({ cloudstack, database, events_poll_ms, states_poll_ms, hook, log, background })
}

function hookDeps({ config, ...parts }: Parts, { poll }: StateWatcher) {
  return { ...parts, hook_secret: config.compute.hook_secret, poll }
}

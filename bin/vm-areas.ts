// The areas about single machines beyond their life cycle: disks, NICs, moves, snapshots, settings and what stands beside.
import { vmDisks } from '#src/contract/compute/disks.ts'
import { vmGuests } from '#src/contract/compute/guests.ts'
import { vmInventory } from '#src/contract/compute/inventory.ts'
import { vmMoves, vmSnapshots } from '#src/contract/compute/moves.ts'
import { vmNics } from '#src/contract/compute/nics.ts'
import { vmSettings } from '#src/contract/compute/settings.ts'
import { bindJob } from '#src/jobs/define.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { diskCreateJob } from '#src/modules/compute/disk-create.job.ts'
import { vmDiskHandlers } from '#src/modules/compute/disks.ts'
import { vmGuestHandlers } from '#src/modules/compute/guests.ts'
import { vmInventoryHandlers } from '#src/modules/compute/inventory.ts'
import { vmMoveHandlers } from '#src/modules/compute/moves.ts'
import { vmNicHandlers } from '#src/modules/compute/nics.ts'
import { vmSettingsHandlers } from '#src/modules/compute/settings.ts'
import { vmSnapshotHandlers } from '#src/modules/compute/vm-snapshots.ts'
import type { Parts } from './areas.ts'

export function mountVms(server: Server, services: MountServices, parts: Parts): void {
  const { database, engine, cloudstack, replica } = parts
  const deps = { cloudstack, database, jobs: engine, replica_id: replica.id }
  engine.register(bindJob(diskCreateJob, { cloudstack }))
  mountArea(server, vmDisks, vmDiskHandlers(deps), services)
  mountArea(server, vmNics, vmNicHandlers(deps), services)
  mountArea(server, vmMoves, vmMoveHandlers(deps), services)
  mountArea(server, vmSnapshots, vmSnapshotHandlers(deps), services)
  mountArea(server, vmGuests, vmGuestHandlers(deps), services)
  mountArea(server, vmSettings, vmSettingsHandlers(deps), services)
  mountArea(server, vmInventory, vmInventoryHandlers(deps), services)
}

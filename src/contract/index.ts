// The areas of the API: what exists. The only re-export of the project.
import { alerts } from './alerts.ts'
import { appEvents } from './app-events.ts'
import { auth } from './auth.ts'
import { cameras } from './cam/cameras.ts'
import { cameraEvents } from './cam/events.ts'
import { cameraFaces } from './cam/faces.ts'
import { camInstance } from './cam/instance.ts'
import { cameraLive } from './cam/live.ts'
import { cameraPlayer } from './cam/player.ts'
import { cameraRecordings } from './cam/recordings.ts'
import { bmcBios } from './bmc/bios.ts'
import { bmcMachine } from './bmc/machine.ts'
import { bmcPower } from './bmc/power.ts'
import { bmcRecords } from './bmc/records.ts'
import { affinityGroups } from './compute/affinity-groups.ts'
import { vmDisks } from './compute/disks.ts'
import { vmGuests } from './compute/guests.ts'
import { computeHooks } from './compute/hooks.ts'
import { vmInventory } from './compute/inventory.ts'
import { vmMetrics } from './compute/metrics.ts'
import { vmMoves, vmSnapshots } from './compute/moves.ts'
import { vmNics } from './compute/nics.ts'
import { vmSettings } from './compute/settings.ts'
import { sshKeys } from './compute/ssh-keys.ts'
import { backups } from './compute/backups.ts'
import { images } from './compute/images.ts'
import { projects } from './compute/projects.ts'
import { userData } from './compute/user-data.ts'
import { vms } from './compute/vms.ts'
import { volumeSnapshots } from './compute/volume-snapshots.ts'
import { console } from './console.ts'
import { dhcp } from './ddi/dhcp.ts'
import { dns } from './ddi/dns.ts'
import { ddiDrift } from './ddi/drift.ts'
import { ipam } from './ddi/ipam.ts'
import { publicIps } from './ddi/public-ips.ts'
import { discovery } from './discovery.ts'
import { diskOfferings } from './disk-offerings.ts'
import { gpu } from './gpu.ts'
import { ha } from './ha/ha.ts'
import { infrastructure } from './infrastructure.ts'
import { jobs } from './jobs.ts'
import { kvmPower } from './kvm/power.ts'
import { kvmProvisioning } from './kvm/provision.ts'
import { eligibleNics } from './network/eligible-nics.ts'
import { firewall } from './network/firewall.ts'
import { guestNetworkJobs } from './network/guest-network-jobs.ts'
import { guestNetworks } from './network/guest-networks.ts'
import { loadBalancers } from './network/load-balancers.ts'
import { monitoring } from './network/monitoring.ts'
import { mtu } from './network/mtu.ts'
import { networkOfferings } from './network/offerings.ts'
import { portForwarding } from './network/port-forwarding.ts'
import { serviceProviders } from './network/providers.ts'
import { networkStats } from './network/stats.ts'
import { decommission } from './nodes/decommission.ts'
import { rollback } from './nodes/rollback.ts'
import { wipe } from './nodes/wipe.ts'
import { nodeHealth } from './nodes/health.ts'
import { nodeSetup } from './nodes/lifecycle-setup.ts'
import { nodeNics } from './nodes/nics.ts'
import { nodeRegistry } from './nodes/registry.ts'
import type { Area } from './route.ts'
import { search } from './search.ts'
import { service } from './service.ts'
import { benchmarks } from './storage/benchmark.ts'
import { hostStorage } from './storage/host.ts'
import { tenants } from './tenants.ts'
import { timeline } from './timeline.ts'

export const areas = [
  service,
  console,
  auth,
  appEvents,
  timeline,
  search,
  jobs,
  vms,
  vmDisks,
  vmNics,
  vmMoves,
  vmSnapshots,
  volumeSnapshots,
  affinityGroups,
  sshKeys,
  userData,
  images,
  projects,
  backups,
  vmGuests,
  vmSettings,
  vmInventory,
  vmMetrics,
  infrastructure,
  tenants,
  publicIps,
  dhcp,
  dns,
  ipam,
  ddiDrift,
  guestNetworks,
  networkOfferings,
  guestNetworkJobs,
  eligibleNics,
  mtu,
  monitoring,
  serviceProviders,
  portForwarding,
  firewall,
  loadBalancers,
  networkStats,
  gpu,
  diskOfferings,
  discovery,
  alerts,
  computeHooks,
  nodeRegistry,
  nodeHealth,
  nodeNics,
  decommission,
  nodeSetup,
  rollback,
  wipe,
  bmcRecords,
  bmcPower,
  bmcBios,
  bmcMachine,
  kvmPower,
  kvmProvisioning,
  hostStorage,
  benchmarks,
  cameras,
  cameraRecordings,
  cameraLive,
  cameraPlayer,
  cameraEvents,
  cameraFaces,
  camInstance,
  ha,
] as unknown as readonly Area[]

/** Machines that run beside the platform: finding them on its own hosts or on remote ones, and taking them in. */
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { text } from '../owner-view.ts'
import type { Json, Row } from '../row.ts'
import { keywordTest, paged } from '../scope.ts'
import { listRows } from './infrastructure.ts'

const GIB = 1024 ** 3
const REMOTE = 'remote-app'

export const imports: Commands = {
  listUnmanagedInstances: (call) => {
    const { clusters, unmanaged } = call.state.tables
    const named = (one: Row): Row => ({ ...one, clustername: text(clusters.get(text(one['clusterid']))?.['name']) })
    return listRows(call, [...unmanaged.values()].map(named), ['clusterid', 'name'], ({ id: _id, ...shown }) => shown)
  },
  listVmsForImport: (call) => {
    requireKvm(call)
    if (call.state.tables.hosts.find((host) => host.state === 'Up') === null) {
      throw internal('No hosts available to perform this operation')
    }
    const keyword = keywordTest(call)
    const remote: Json[] = [
      {
        name: REMOTE,
        powerstate: 'PowerOff',
        cpunumber: 2,
        memory: 4096,
        osdisplayname: 'Debian GNU/Linux',
        bootmode: 'LEGACY',
        boottype: 'BIOS',
        disk: [{ id: 'vda', capacity: 20 * GIB }],
        nic: [{ id: 'net0', macaddress: '52:54:00:cc:dd:01' }],
      },
    ]
    return paged(
      call,
      remote.filter(() => keyword(REMOTE)),
      (one) => one,
    )
  },
}

function requireKvm(call: Call): void {
  const hypervisor = call.params.need('hypervisor')
  if (hypervisor.toUpperCase() !== 'KVM')
    throw invalid(`VM Import is currently not supported for hypervisor: ${hypervisor}`)
}

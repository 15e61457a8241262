/** What the simulated platform needs for an NVR: the template, and a network whose addresses this machine can listen on. */
import type { SimulatorState } from '../cloudstack/state.ts'
import { seededId, wellKnown } from '../site.ts'

export interface CameraSite {
  network_id: string
  /** The first three parts of its addresses. */
  subnet: string
}

const NETWORK = 'cameras'

/** A network that is there keeps its addresses, because machines have them. */
export function addCameraSite(
  { tables }: SimulatorState,
  { template, subnet }: { template: string; subnet: string },
): CameraSite {
  const network_id = seededId('network', NETWORK)
  const known = tables.networks.get(network_id)
  if (known !== null) return { network_id, subnet: known.gateway?.replace(/\.\d+$/, '') ?? subnet }
  const like = tables.networks.get(wellKnown.networks['acme-net'])
  const image = tables.templates.get(wellKnown.templates['Debian 12'])
  if (like === null || image === null) throw new Error('the site has no network and no template to copy')
  const accountid = wellKnown.accounts.admin
  tables.networks.put({
    ...like,
    id: network_id,
    name: NETWORK,
    displaytext: 'Cameras and their NVR',
    cidr: `${subnet}.0/24`,
    gateway: `${subnet}.1`,
    netmask: '255.255.255.0',
    vlan: 700,
    accountid,
  })
  tables.templates.put({
    ...image,
    id: seededId('template', template),
    name: template,
    displaytext: template,
    accountid,
  })
  return { network_id, subnet }
}

// The configuration of keepalived and of its unit, from the list of members. Every text of the document has a pattern that
// excludes what has a meaning there.
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { FailoverDocument } from '#src/contract/nodes/failover-document.ts'
import { invalidField } from '#src/kernel/errors.ts'

export const KEEPALIVED_CONFIG = '/etc/keepalived/keepalived.conf'
export const KEEPALIVED_DROP_IN = '/etc/systemd/system/keepalived.service.d/groundplane.conf'

/** Addresses of documentation and of the discard prefix, which no node has (RFC 5737, RFC 6666). */
const NOBODY = { 4: '192.0.2.1', 6: '100::1' } as const

/** Throws INVALID_REQUEST for addresses that are none. */
export function keepalivedConfig(document: FailoverDocument, scripts_dir: string): string {
  const { address, peers, virtual_addresses } = document
  const family = familyOf('document.address', address)
  for (const [at, peer] of peers.entries()) {
    if (familyOf(`document.peers.${at}`, peer) !== family)
      throw invalidField(`document.peers.${at}`, `${peer} is not of the same kind as ${address}`)
  }
  const script = (name: string): string => join(scripts_dir, name)
  // A packet carries addresses of one kind; those of the other move with them.
  const same = virtual_addresses.filter((one, at) => familyOf(`document.virtual_addresses.${at}`, bare(one)) === family)
  const others = virtual_addresses.filter((one) => !same.includes(one))
  if (same.length === 0)
    throw invalidField('document.virtual_addresses', `has no address of the same kind as ${address}`)
  return [
    '# Written by Groundplane from the members of the management cluster: changes are lost.',
    ...block('global_defs', [`router_id ${address}`, 'enable_script_security', `script_user ${document.script_user}`]),
    ...block('vrrp_script api', [
      `script "${script('check-api.sh')} ${document.check_url}"`, 'interval 2', 'timeout 3', 'fall 2', 'rise 2',
    ]), // biome-ignore format: one statement a text
    ...block('vrrp_instance management', [
      // Whoever has the addresses keeps them while it is well: nothing moves because a node came back.
      'state BACKUP',
      'nopreempt',
      `interface ${document.interface}`,
      `virtual_router_id ${document.virtual_router_id}`,
      `priority ${document.priority}`,
      'advert_int 1',
      `unicast_src_ip ${address}`,
      // It refuses an empty list, and to go over to multicast and back costs the addresses for seconds.
      ...block('unicast_peer', peers.length === 0 ? [NOBODY[family === 6 ? 6 : 4]] : peers),
      ...block('virtual_ipaddress', same.map((one) => `${one} dev ${document.interface}`)),
      ...(others.length === 0 ? [] : block('virtual_ipaddress_excluded', others.map((one) => `${one} dev ${document.interface}`))),
      ...block('track_script', ['api']),
      `notify "${script('notify.sh')} ${document.ha_dir} ${address}"`,
    ]), // biome-ignore format: one statement a text
    '',
  ].join('\n')
}

/** A daemon that was killed leaves its addresses on the node: the service manager takes them off. */
export function keepalivedDropIn(
  { interface: device, virtual_addresses }: FailoverDocument,
  scripts_dir: string,
): string {
  const remove = [join(scripts_dir, 'remove-vips.sh'), device, ...virtual_addresses].join(' ')
  return [
    '# Written by Groundplane: changes are lost.',
    '[Service]',
    `ExecStartPre=${remove}`,
    `ExecStopPost=${remove}`,
    'Restart=on-failure',
    'RestartSec=2',
    '',
  ].join('\n')
}

function block(name: string, lines: readonly string[]): string[] {
  return [`${name} {`, ...lines.map((line) => `  ${line}`), '}']
}

const bare = (address: string): string => address.split('/')[0] ?? address

function familyOf(path: string, address: string): number {
  const family = isIP(address)
  if (family === 0) throw invalidField(path, `${address} is not an IP address`)
  return family
}

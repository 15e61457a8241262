// The recorded router r1 of the three-router fabric, asked through vtysh; single answers can be replaced.
import type { RunResult } from '#src/kernel/host.ts'
import { at, listOf, recordOf } from '#src/node/untrusted-json.ts'
import { linuxFixture, linuxFixtureJson } from './linux-fixture.ts'
import { type ScriptedHost, scriptedHost } from './scripted-host.ts'

const FILES: Record<string, string> = {
  'show version': 'version.txt',
  'show daemons': 'daemons.txt',
  'show evpn json': 'evpn.json',
  'show evpn vni json': 'evpn-vni.json',
  'show evpn vni detail json': 'evpn-vni-detail.json',
  'show evpn mac vni all detail json': 'evpn-mac-vni-all-detail.json',
  'show evpn arp-cache vni all detail json': 'evpn-arp-vni-all-detail.json',
  'show evpn rmac vni all json': 'evpn-rmac-vni-all.json',
  'show ip route summary json': 'ip-route-summary.json',
  'show ip route 10.255.0.2/32 json': 'ip-route-vtep.json',
  'show bgp summary json': 'bgp-summary.json',
  'show bgp l2vpn evpn vni json': 'bgp-evpn-vni.json',
  'show bgp l2vpn evpn statistics json': 'bgp-evpn-statistics.json',
  'show bgp l2vpn evpn route type multicast json': 'bgp-evpn-route-multicast.json',
  'show bgp l2vpn evpn route type macip json': 'bgp-evpn-route-macip.json',
  'show bgp l2vpn evpn route type prefix json': 'bgp-evpn-route-prefix.json',
  'show ip ospf json': 'ospf.json',
  'show ip ospf neighbor json': 'ospf-neighbor.json',
  'show bfd peers json': 'bfd-peers.json',
  'show running-config': 'running-config.txt',
}

/** `changes`: another answer for a command (or for every command of a daemon, by its name). */
export function recordedRouter(changes: Record<string, Partial<RunResult>> = {}): ScriptedHost {
  return scriptedHost({
    files: { '/etc/groundplane/intended.conf': linuxFixture('frr', 'running-config.txt') },
    run(tool, args) {
      if (tool === 'ip') return { stdout: JSON.stringify(linksWithAddresses()) }
      if (tool === 'bridge' && args.includes('fdb')) return { stdout: linuxFixture('iproute2', 'r1-bridge-j-fdb.json') }
      if (tool === 'bridge') return { stdout: '[]' }
      if (tool !== 'vtysh') return undefined
      const command = args.at(-1) ?? ''
      const daemon = args[args.indexOf('-d') + 1] ?? ''
      const file = FILES[command]
      return (
        changes[command] ??
        (args.includes('-d') ? changes[daemon] : undefined) ??
        (file === undefined ? { stdout: '{}' } : { stdout: linuxFixture('frr', file) })
      )
    },
  })
}

/** One call gives both on a real machine; they were recorded apart. */
function linksWithAddresses(): unknown[] {
  const addresses = listOf(linuxFixtureJson('iproute2', 'r1-ip-j-addr.json'))
  return listOf(linuxFixtureJson('iproute2', 'r1-ip-j-d-s-s-link.json')).map((link) => ({
    ...recordOf(link),
    addr_info: at(
      addresses.find((one) => at(one, 'ifname') === at(link, 'ifname')),
      'addr_info',
    ),
  }))
}

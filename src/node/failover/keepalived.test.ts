// The configuration of keepalived and of its unit, as a whole text, and what does not become one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Value from 'typebox/value'
import { FailoverDocument } from '#src/contract/nodes/failover-document.ts'
import { keepalivedConfig, keepalivedDropIn } from './keepalived.ts'

const SCRIPTS = '/usr/local/lib/groundplane/failover'
const DOCUMENT: FailoverDocument = {
  address: '10.60.0.1',
  interface: 'bond0',
  priority: 130,
  peers: ['10.60.0.2', '10.60.0.3'],
  virtual_addresses: ['10.60.0.100/24', '2001:db8::100/64'],
  virtual_router_id: 51,
  check_url: 'http://127.0.0.1:8080/readyz',
  ha_dir: '/var/lib/groundplane/control/ha',
  script_user: 'groundplane',
}

test('the configuration names the members, and the addresses that move between them', () => {
  const expected = `# Written by Groundplane from the members of the management cluster: changes are lost.
global_defs {
  router_id 10.60.0.1
  enable_script_security
  script_user groundplane
}
vrrp_script api {
  script "/usr/local/lib/groundplane/failover/check-api.sh http://127.0.0.1:8080/readyz"
  interval 2
  timeout 3
  fall 2
  rise 2
}
vrrp_instance management {
  state BACKUP
  nopreempt
  interface bond0
  virtual_router_id 51
  priority 130
  advert_int 1
  unicast_src_ip 10.60.0.1
  unicast_peer {
    10.60.0.2
    10.60.0.3
  }
  virtual_ipaddress {
    10.60.0.100/24 dev bond0
  }
  virtual_ipaddress_excluded {
    2001:db8::100/64 dev bond0
  }
  track_script {
    api
  }
  notify "/usr/local/lib/groundplane/failover/notify.sh /var/lib/groundplane/control/ha 10.60.0.1"
}
`
  assert.equal(keepalivedConfig(DOCUMENT, SCRIPTS), expected)
})

test('the unit takes the addresses off the node before the daemon starts and after it ended', () => {
  const remove = `${SCRIPTS}/remove-vips.sh bond0 10.60.0.100/24 2001:db8::100/64`
  const text = keepalivedDropIn(DOCUMENT, SCRIPTS)
  assert.ok(text.includes(`[Service]\nExecStartPre=${remove}\nExecStopPost=${remove}\n`), text)
})

test('what could mean something else in the configuration is no document', () => {
  assert.ok(Value.Check(FailoverDocument, DOCUMENT))
  const hostile: Partial<Record<keyof FailoverDocument, unknown>>[] = [
    { address: '10.60.0.1\nnotify "/bin/sh"' }, { interface: 'eth0 }' }, { priority: 255 }, { peers: ['10.60.0.2 }'] },
    { virtual_addresses: ['10.60.0.100/24 dev lo'] }, { virtual_addresses: [] }, { check_url: 'http://x/" }' }, { check_url: 'file:///etc/shadow' },
    { ha_dir: '/var/lib/../etc' }, { ha_dir: '/a b' }, { script_user: 'root; x' }, { virtual_router_id: 256 },
  ] // biome-ignore format: one a case
  for (const change of hostile)
    assert.ok(!Value.Check(FailoverDocument, { ...DOCUMENT, ...change }), JSON.stringify(change))
  for (const change of [
    { address: '1.2.3' },
    { peers: ['2001:db8::1'] },
    { virtual_addresses: ['2001:db8::1/64'] },
    { peers: ['...'] },
  ]) {
    assert.throws(
      () => keepalivedConfig({ ...DOCUMENT, ...change }, SCRIPTS),
      { code: 'INVALID_REQUEST' },
      JSON.stringify(change),
    )
  }
})

test('a member without peers is configured with one that nobody is, because the daemon refuses an empty list', () => {
  assert.match(keepalivedConfig({ ...DOCUMENT, peers: [] }, SCRIPTS), /unicast_peer \{\n {4}192\.0\.2\.1\n {2}\}/)
})

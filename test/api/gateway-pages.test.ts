// A gateway before the platform gives up waiting and sends its own page, while the platform does what was asked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
let proxy: PlatformProxy
before(async () => {
  lab = await startLab({
    between: async (url) => {
      proxy = await startPlatformProxy(url)
      return proxy.url
    },
  })
})
after(async () => {
  await lab.close()
  await proxy.close()
})

/** The first call of this command is done by the platform, and answered by the gateway. */
function answeredByGateway(changes: string): void {
  let pages = 0
  proxy.behave((command) => (command === changes && (pages += 1) === 1 ? 'page' : 'pass'))
}

const { networks, vms, templates, service_offerings, zone } = wellKnown
const MACHINE = {
  name: 'behind-01',
  zone_id: zone,
  template_id: templates['Debian 12'],
  service_offering_id: service_offerings.small,
  network_ids: [networks['office-shared']],
}
const tables = () => lab.platform.state.tables

const ORDERS: readonly [what: string, command: string, path: string, body: object, count: () => number][] = [
  ['a machine', 'deployVirtualMachine', '/compute/vms/provision', MACHINE, () => tables().vms.size],
  [
    'a public IP',
    'associateIpAddress',
    '/ddi/public-ips',
    { zone_id: zone, network_id: networks['acme-net'] },
    () => tables().addresses.filter((one) => one.state === 'Allocated').length,
  ],
  ['a tenant', 'createDomain', '/admin/tenants', { name: 'behind' }, () => tables().domains.size],
  [
    'a snapshot',
    'createVMSnapshot',
    '/compute/vms/snapshots/create',
    { virtual_machine_id: vms['shop-api'], name: 'behind' },
    () => tables().vmsnapshots.size,
  ],
]

for (const [what, command, path, body, count] of ORDERS) {
  test(`${what} whose answer is a gateway's 504 page is made once, and the order succeeds`, async () => {
    const before_order = count()
    answeredByGateway(command)
    const reply = await lab.call('POST', path, body, { headers: { prefer: 'wait=60' } })
    assert.ok(reply.status < 300, reply.text)
    const job = await lab.call('GET', `/jobs/${reply.headers.get('x-correlation-id')}`)
    assert.equal(job.body.job_status, 'completed', job.text)
    assert.equal(count(), before_order + 1)
  })
}

test('a change whose answer is such a page counts as done when it is seen to be', async () => {
  answeredByGateway('stopVirtualMachine')
  const { status, body } = await lab.call(
    'POST',
    '/compute/vms/stop',
    { virtual_machine_id: vms['web-01'] },
    { headers: { prefer: 'wait=60' } },
  )
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(
    (await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: vms['web-01'] })).body.state,
    'Stopped',
  )
})

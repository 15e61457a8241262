// Fields that are right by themselves, and wrong beside the others or for what they are about: refused by name, before anything is
// changed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ addresses: true, time: 'step' })
})
after(() => lab.close())

const ZONE = 'lab.example'
const { zone, vms, service_offerings, templates } = wellKnown
const vm_id = vms['web-01']
const record = { zone: ZONE, name: 'new', type: 'A', value: '10.0.0.1' }
const reservation = { scope_name: 'acme-office', hostname: 'h', mac: '52:54:00:30:00:99', ip: '10.30.0.99' }
const machine = {
  name: 'new-01', zone_id: zone, template_id: templates['Debian 12'], service_offering_id: service_offerings.small,
} // biome-ignore format: one record

const WRONG: readonly [method: string, path: string, body: object, field: string, sentence: RegExp][] = [
  ['POST', '/auth/tokens', { name: 'far', role: 'viewer', expires_at: '9999-12-31T00:00:00Z' }, 'body.expires_at', /before the year 9999/],
  ['POST', '/compute/vms/provision', { ...machine, boot_type: 'BIOS', boot_mode: 'SECURE' }, 'body.boot_mode', /SECURE needs boot_type UEFI/],
  ['POST', '/compute/vms/provision', { ...machine, user_data: 'IyEK', user_data_id: NOBODY }, 'body.user_data', /excludes user_data_id/],
  ['POST', '/compute/vms/detach-disk', { volume_id: NOBODY, device_id: 1 }, 'body.device_id', /excludes volume_id/],
  ['POST', '/compute/vms/list-for-import', { zone_id: zone, host: '192.0.2.7', name: 'old-01' }, 'body.name', /has no meaning with host/],
  ['POST', '/compute/vms/userdata/reset', { virtual_machine_id: vm_id, user_data: Buffer.alloc(1024 ** 2 + 1).toString('base64') }, 'body.user_data', /longer than 1 MiB/],
  ['POST', '/catalog/serviceofferings/diskoffering/create', { name: 'fast', display_text: 'Fast', disk_size_gb: 5, customized_iops: true, min_iops: 1, max_iops: 2 }, 'body.min_iops', /cannot be given with customized_iops/],
  ['POST', `/tenants/${wellKnown.domains.acme}/auth-source`, { auth_source: 'oidc', saml: { identity_provider_id: 'x' } }, 'body.saml', /goes with auth_source saml/],
  ['POST', '/ddi/public-ips', { zone_id: zone, create_ptr: true }, 'body.create_ptr', /goes with create_dns true/],
  ['POST', '/ddi/dhcp/reservations', { ...reservation, create_ptr: true }, 'body.create_ptr', /needs create_dns/],
  ['POST', '/ddi/dns/zones', { name: 'new.example', type: 'Primary', create_reverse_zone: true }, 'body.reverse_zone_cidr', /is needed with create_reverse_zone/],
  ['POST', '/ddi/dns/zones', { name: 'new.example', type: 'Secondary', masters: ['192.0.2.1'], create_reverse_zone: true, reverse_zone_cidr: '10.8.0.0/24' }, 'body.create_reverse_zone', /beside a Primary zone/],
  ['POST', '/ddi/dns/zones', { name: 'new.example', type: 'Secondary', masters: ['192.0.2.1', 'ns.example'] }, 'body.masters/1', /ns\.example is no address/],
  ['POST', '/configure/decommission/wipe-result', { success: 1 }, 'body.all_verified', /must be given/],
  ['POST', '/ddi/dns/records', { ...record, priority: 5 }, 'body.priority', /A record has none/],
] // biome-ignore format: one request a line

for (const [method, path, body, field, sentence] of WRONG) {
  test(`${method} ${path}: ${field} is refused by its name: ${sentence.source}`, async () => {
    const changes = async () => (await lab.call('GET', '/jobs')).body.count
    const before_count = await changes()
    const { status, body: answer, text } = await lab.call(method, path, body)
    const [found] = answer.errors ?? []
    assert.equal(status, 400, text)
    assert.deepEqual([found?.path, sentence.test(found?.message ?? '')], [field, true], text)
    assert.equal(await changes(), before_count, 'no job was admitted')
  })
}

test('each change of a list of DNS changes that cannot be is refused by its number and field, and the others are made', async () => {
  const operations = [
    { action: 'ADD' },
    { action: 'UPDATE', old_record: { id: 'x' } },
    { action: 'DELETE', old_record: { name: 'a' } },
    { action: 'ADD', record: { ...record, name: 'twice' } },
    { action: 'ADD', record: { ...record, name: 'twice', value: '10.0.0.2' } },
    { action: 'DELETE', old_record: { name: 'twice', type: 'A' } },
  ]
  const { status, body, text } = await lab.call('POST', '/ddi/dns/records/bulk', { zone: ZONE, operations })
  assert.deepEqual([status, body.succeeded, body.failed], [200, 2, 4], text)
  assert.deepEqual(
    body.results.map(({ error }: { error: string }) => error),
    [
      'body.operations/0/record: is needed for ADD',
      'body.operations/1/record: is needed for UPDATE',
      'body.operations/2/old_record: needs the id, or name and type',
      '',
      '',
      'body.operations/5/old_record: twice.lab.example has 2 such records; name the value',
    ],
  )
})

// The tests of IPAM over HTTP that hold for every address store. They build on each other in their order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok, refused } from './address-steps.ts'
import type { Caller } from './http.ts'

export const IPAM = '/ddi/ipam'

/** `default_site`: whether the store can mark one site as the default. */
export function ipamTests(call: Caller, { default_site }: { default_site: boolean }): void {
  const ids: Record<string, number> = {}

  test('sites, roles, VLANs and prefixes are made, listed, and refused twice', async () => {
    ids.site = ok(
      await call('POST', `${IPAM}/sites`, {
        slug: 'fra1',
        name: 'Frankfurt',
        ...(default_site ? { is_default: true } : {}),
      }),
      201,
    ).data.id
    ids.role = ok(await call('POST', `${IPAM}/roles`, { slug: 'storage', name: 'Storage' }), 201).data.id
    const vlan = { vid: 30, name: 'storage', site_id: ids.site, role_id: ids.role }
    ids.vlan = ok(await call('POST', `${IPAM}/vlans`, vlan), 201).data.id
    const prefix = {
      cidr: '10.66.0.0/28', site_id: ids.site, vlan_id: ids.vlan, role_id: ids.role, gateway: '10.66.0.1', excluded_ranges: ['10.66.0.10-10.66.0.14'],
    } // biome-ignore format: one prefix
    const made = ok(await call('POST', `${IPAM}/prefixes`, prefix), 201).data
    ids.prefix = made.id
    assert.deepEqual([made.total, made.used, made.excluded_ranges], [8, 0, ['10.66.0.10-10.66.0.14']])
    assert.equal(ok(await call('GET', `${IPAM}/sites`)).data.total_count, 1)
    assert.equal(ok(await call('GET', `${IPAM}/roles`)).data.roles[0].slug, 'storage')
    assert.equal(ok(await call('GET', `${IPAM}/vlans?role=storage&site_id=${ids.site}&vid=30`)).data.total_count, 1)
    assert.equal(ok(await call('GET', `${IPAM}/prefixes?contains=10.66.0.7`)).data.prefixes[0].id, ids.prefix)
    assert.equal(ok(await call('GET', `${IPAM}/prefixes/${ids.prefix}`)).data.cidr, '10.66.0.0/28')
    refused(await call('POST', `${IPAM}/sites`, { slug: 'fra1', name: 'Other' }), 409, 'IPAM_EXISTS', 'fra1')
    refused(await call('POST', `${IPAM}/roles`, { slug: 'storage', name: 'Other' }), 409, 'IPAM_EXISTS')
    refused(await call('POST', `${IPAM}/vlans`, vlan), 409, 'IPAM_EXISTS')
    refused(await call('POST', `${IPAM}/prefixes`, { cidr: '10.66.0.0/24' }), 409, 'IPAM_EXISTS', '10.66.0.0/24')
    refused(await call('GET', `${IPAM}/prefixes/999`), 404, 'IPAM_NOT_FOUND', '999')
  })

  test('what cannot be is refused with the field and the reason', async () => {
    const cases: [string, Record<string, unknown>, string][] = [
      ['prefixes', { cidr: '10.67.0.1/24' }, 'host bits'],
      ['prefixes', { cidr: '10.67.0.0/24', gateway: '10.68.0.1' }, 'body.gateway'],
      ['prefixes', { cidr: '10.67.0.0/24', excluded_ranges: ['10.67.0.9-10.67.0.3'] }, 'excluded_ranges'],
      ['prefixes', { cidr: '10.67.0.0/24', site_id: 999 }, 'site_id'],
      ['vlans', { vid: 4095, name: 'x' }, 'vid'],
      ['vlans', { vid: 5, name: 'x', role_id: 999 }, 'role_id'],
      ['sites', { slug: 'Has Space', name: 'x' }, 'slug'],
      ['roles', { slug: 'x' }, 'name'],
      [`prefixes/${ids.prefix}/addresses`, { address: '10.66.0.300' }, 'address'],
      [`prefixes/${ids.prefix}/addresses`, { owner_kind: 'node' }, 'owner_id'],
    ]
    for (const [path, body, word] of cases)
      refused(await call('POST', `${IPAM}/${path}`, body), 400, 'INVALID_REQUEST', word)
    for (const list of ['sites', 'roles', 'vlans', 'prefixes', 'addresses'])
      refused(await call('GET', `${IPAM}/${list}?page=0`), 400, 'INVALID_REQUEST', 'page')
    for (const kind of ['sites', 'roles', 'vlans', 'prefixes', 'addresses'])
      refused(await call('DELETE', `${IPAM}/${kind}/0`), 400, 'INVALID_REQUEST')
    refused(await call('GET', `${IPAM}/prefixes/0`), 400, 'INVALID_REQUEST')
    refused(await call('POST', `${IPAM}/prefixes/999/addresses`, {}), 404, 'IPAM_NOT_FOUND')
  })

  test('twenty callers at once get every free address of a prefix once, and the others a clear answer', async () => {
    const allocate = () =>
      call('POST', `${IPAM}/prefixes/${ids.prefix}/addresses`, { owner_kind: 'node', owner_id: 'kvm-07' })
    const replies = await Promise.all(Array.from({ length: 20 }, allocate))
    const made = replies.filter((reply) => reply.status === 201).map((reply) => reply.body.data.address as string)
    assert.deepEqual(made.toSorted(), [
      '10.66.0.2',
      '10.66.0.3',
      '10.66.0.4',
      '10.66.0.5',
      '10.66.0.6',
      '10.66.0.7',
      '10.66.0.8',
      '10.66.0.9',
    ])
    for (const reply of replies.filter((one) => one.status !== 201)) refused(reply, 409, 'IPAM_PREFIX_FULL')
    refused(
      await call('POST', `${IPAM}/prefixes/${ids.prefix}/addresses`, { address: '10.66.0.5' }),
      409,
      'IPAM_ADDRESS_TAKEN',
      '10.66.0.5',
    )
    const held = ok(await call('GET', `${IPAM}/addresses?owner_kind=node&owner_id=kvm-07&page_size=3`)).data
    assert.deepEqual([held.total_count, held.addresses.length], [8, 3])
    const [{ id }] = ok(await call('GET', `${IPAM}/addresses?address=10.66.0.4`)).data.addresses
    refused(await call('DELETE', `${IPAM}/prefixes/${ids.prefix}`), 409, 'IPAM_IN_USE')
    ok(await call('DELETE', `${IPAM}/addresses/${id}`))
    refused(await call('DELETE', `${IPAM}/addresses/${id}`), 404, 'IPAM_NOT_FOUND')
    assert.equal(ok(await allocate(), 201).data.address, '10.66.0.4')
  })

  test('a repeated request with its key gets the same address', async () => {
    const prefix = ok(await call('POST', `${IPAM}/prefixes`, { cidr: '2001:db8:66::/64' }), 201).data
    const headers = { 'idempotency-key': 'one-address' }
    const path = `${IPAM}/prefixes/${prefix.id}/addresses`
    const first = ok(await call('POST', path, {}, { headers }), 201).data.address
    assert.equal(ok(await call('POST', path, {}, { headers }), 201).data.address, first)
    assert.equal(first, '2001:db8:66::1')
  })

  test('what others name is deleted after them', async () => {
    for (const [kind, id] of [['vlans', ids.vlan], ['roles', ids.role], ['sites', ids.site]] as const) // biome-ignore format: one list
      refused(await call('DELETE', `${IPAM}/${kind}/${id}`), 409, 'IPAM_IN_USE')
    const { addresses } = ok(await call('GET', `${IPAM}/addresses?page_size=500`)).data
    for (const { id } of addresses) ok(await call('DELETE', `${IPAM}/addresses/${id}`))
    for (const kind of ['prefixes', 'vlans', 'roles', 'sites']) {
      const rows = ok(await call('GET', `${IPAM}/${kind}`)).data[kind]
      for (const { id } of rows) ok(await call('DELETE', `${IPAM}/${kind}/${id}`))
      refused(await call('DELETE', `${IPAM}/${kind}/1`), 404, 'IPAM_NOT_FOUND')
    }
  })
}

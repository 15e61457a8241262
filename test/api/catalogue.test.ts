// Templates, ISO images, operating systems, projects and backups, over HTTP.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { Reply } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)
const outside = (reply: Reply, sentence: RegExp) => {
  assert.deepEqual([reply.status, reply.body.code], [403, 'TENANT_SCOPE'], reply.text)
  assert.match(reply.text, sentence)
}

const { acme, globex } = wellKnown.domains
const OS = seededId('ostype', 'Debian GNU/Linux 12 (64-bit)')
const KINDS = [
  { kind: 'template', noun: 'Template', path: '/catalog/templates', list: '/catalog/templates', key: 'templates', id: 'template_id', format: 'qcow2' },
  { kind: 'ISO image', noun: 'ISO image', path: '/catalog/isos', list: '/compute/vms/isos', key: 'isos', id: 'iso_id', format: 'iso' },
] as const // biome-ignore format: one row each
type Kind = (typeof KINDS)[number]

const order = ({ format }: Kind) => ({
  name: 'fresh', url: `https://images.example.com/fresh.${format}`, zone_id: wellKnown.zone, os_type_id: OS,
}) // biome-ignore format: one record
const listed = async ({ list, key }: Kind, id: string, token?: string) =>
  (await lab.call('GET', `${list}?keyword=fresh`, undefined, token === undefined ? {} : { token })).body[key].find(
    (one: { id: string }) => one.id === id,
  )

for (const kind of KINDS) {
  test(`a ${kind.kind} is registered from a URL that the platform fetches, and shows how far its download is`, async () => {
    const made = await api.post(`${kind.path}/register`, { ...order(kind), checksum: `{SHA-256}${'0a'.repeat(32)}` })
    assert.equal(made.status, 200, made.text)
    const { id, name, display_text, is_public, is_ready, os_type_id } = made.body
    assert.deepEqual([name, display_text, is_public, os_type_id], ['fresh', 'fresh', false, OS])
    assert.ok(is_ready || made.body.state === 'downloading', made.text)
    const shows = async (set: object) => {
      // Made long ago, so that the simulated download leaves it alone.
      await api.put('templates', id, { created: 0, isready: false, ...set })
      const { state, percent, status } = await listed(kind, id)
      return { state, percent, status }
    }
    const downloading = { downloadstate: 'DOWNLOAD_IN_PROGRESS', percent: 40, status: '40% Downloaded' }
    assert.deepEqual(await shows(downloading), { state: 'downloading', percent: 40, status: '40% Downloaded' })
    const failed = await shows({ downloadstate: 'DOWNLOAD_ERROR', percent: 0, status: 'Connection refused' })
    assert.deepEqual(failed, { state: 'failed', percent: null, status: 'Connection refused' })
    const ready = await shows({ isready: true, status: 'Download Complete', downloadstate: 'DOWNLOADED', percent: 100 })
    assert.deepEqual(ready, { state: 'ready', percent: 100, status: 'Download Complete' })
    const [event] = (await api.post('/events/app-events', { resource_uuid: id })).body.app_events
    assert.match(event.description, /^Registered .* fresh; the platform downloads it\.$/)
  })

  test(`a URL of a ${kind.kind} that carries a password, leads to the platform's own machines, or to another format is refused`, async () => {
    const asked = (url: string) => api.post(`${kind.path}/register`, { ...order(kind), url })
    for (const [url, why] of [
      [`https://root:s3cretpass@images.example.com/a.${kind.format}`, /no user and password/],
      [`ftp://images.example.com/a.${kind.format}`, /http or https/],
      [`file:///etc/a.${kind.format}`, /http or https/],
      ['not a url', /http or https/],
      [`http://127.0.0.1/a.${kind.format}`, /127\.0\.0\.1 is each machine/],
      [`http://0x7f.1/a.${kind.format}`, /127\.0\.0\.1 is each machine/],
      [`http://169.254.169.254/a.${kind.format}`, /each machine/],
      [`http://[::ffff:127.0.0.1]/a.${kind.format}`, /each machine/],
      [`http://[fe80::1]/a.${kind.format}`, /each machine/],
      [`http://cache.localhost./a.${kind.format}`, /each machine/],
      ['https://images.example.com/a.tar', new RegExp(`must end in \\.${kind.format}`)],
    ] as const) {
      const reply = await asked(url)
      api.refused(reply, 'INVALID_REQUEST', why)
      assert.ok(!reply.text.includes('s3cretpass'))
    }
    assert.deepEqual([...(await api.calls('registerTemplate')), ...(await api.calls('registerIso'))], [])
    assert.equal((await asked(`http://10.0.0.60/a.${kind.format}.gz`)).status, 200)
  })

  test(`a ${kind.kind} is renamed, and deleted once no machine uses it; with dry_run it stays`, async () => {
    const made = await api.post(`${kind.path}/register`, order(kind))
    const id: string = made.body.id
    const update = (body: object) => api.post(`${kind.path}/update`, { [kind.id]: id, ...body })
    const renamed = await update({ name: 'fresh-2', display_text: 'Second' })
    assert.deepEqual([renamed.body.name, renamed.body.display_text], ['fresh-2', 'Second'], renamed.text)
    api.refused(await update({}), 'INVALID_REQUEST', /nothing to change/)

    const remove = (query = '', token?: string) => api.post(`${kind.path}/delete${query}`, { [kind.id]: id }, token)
    const [mine, theirs] = [acme, globex].map((domain) => {
      const account = lab.platform.state.tables.accounts.find((one) => one.domainid === domain)
      const vm = lab.platform.state.tables.vms.by('account', account?.id ?? '').find((one) => one.projectid === null)
      assert.ok(vm !== undefined)
      return vm
    })
    assert.ok(mine !== undefined && theirs !== undefined)
    const used = (vm: { id: string }, by: string | null) =>
      api.put('vms', vm.id, kind.kind === 'template' ? { templateid: by ?? mine.templateid } : { isoid: by })
    await used(mine, id)
    api.refused(await remove(), 'IMAGE_IN_USE', new RegExp(`${kind.noun} fresh-2 is used by ${mine.name};`))
    await used(theirs, id)
    await api.put('templates', id, { accountid: mine.accountid })
    const token = await api.tokenOf(acme)
    const both = await remove('?dry_run=true', token)
    api.refused(both, 'IMAGE_IN_USE', new RegExp(`${mine.name} and 1 more`))
    assert.ok(!both.text.includes(theirs.name))
    await used(mine, null)
    if (kind.kind === 'template') await api.put('vms', mine.id, { templateid: wellKnown.templates['Debian 12'] })
    const others = await remove('', token)
    api.refused(others, 'IMAGE_IN_USE', /is used by a virtual machine of another tenant;/)
    await used(theirs, null)
    if (kind.kind === 'template') await api.put('vms', theirs.id, { templateid: wellKnown.templates['Debian 12'] })

    const plan = await remove('?dry_run=true')
    const { name: zone } = lab.platform.state.tables.zones.get(wellKnown.zone) as unknown as { name: string }
    const message = `Would delete ${kind.kind} fresh-2 in ${zone}.`
    const affected = [{ kind: 'zone', id: wellKnown.zone, name: zone }]
    assert.deepEqual([plan.status, plan.body], [200, { dry_run: true, message, affected }])
    assert.equal((await api.calls('deleteTemplate')).length + (await api.calls('deleteIso')).length, 0)
    assert.equal((await api.ended(await remove())).job_status, 'completed')
    assert.equal(lab.platform.state.tables.templates.get(id), null)
    api.refused(await remove(), 'RESOURCE_NOT_FOUND', new RegExp(`${kind.noun} ${id} not found`))
  })

  test(`a tenant-scoped caller registers a ${kind.kind} for its tenant alone, and changes no shared one`, async () => {
    const token = await api.tokenOf(acme)
    const own = await api.post(`${kind.path}/register`, order(kind), token)
    assert.deepEqual([own.status, own.body.tenant_id, own.body.is_public], [200, acme, false], own.text)
    outside(await api.post(`${kind.path}/register`, { ...order(kind), is_public: true }, token), /is_public/)
    outside(await api.post(`${kind.path}/register`, { ...order(kind), domain_id: globex }, token), /another one/)
    const stranger = await api.tokenOf(globex)
    assert.ok((await listed(kind, own.body.id, token)) !== undefined)
    assert.equal(await listed(kind, own.body.id, stranger), undefined)
    api.refused(
      await api.post(`${kind.path}/update`, { [kind.id]: own.body.id, name: 'x' }, stranger),
      'RESOURCE_NOT_FOUND',
    )
    const shared = kind.kind === 'template' ? wellKnown.templates['Debian 12'] : wellKnown.isos['virtio-win']
    outside(await api.post(`${kind.path}/delete`, { [kind.id]: shared }, token), /shared by another tenant/)
    await api.put('templates', shared, { templatetype: 'SYSTEM' })
    api.refused(
      await api.post(`${kind.path}/delete`, { [kind.id]: shared }),
      'COMPUTE_REJECTED',
      /platform itself needs/,
    )
    await api.put('templates', shared, { templatetype: 'USER' })
  })
}

test('a bootable ISO image needs an operating system, and images that are not ready are asked for', async () => {
  const [, iso] = KINDS
  const { os_type_id: _os, ...data } = order(iso)
  api.refused(
    await api.post('/catalog/isos/register', data),
    'INVALID_REQUEST',
    /os_type_id: is needed unless bootable/,
  )
  const made = await api.post('/catalog/isos/register', { ...data, bootable: false })
  assert.deepEqual([made.status, made.body.bootable], [200, false], made.text)
  await api.put('templates', made.body.id, { created: 0, isready: false })
  const ids = async (query: string) => {
    const { body } = await lab.call('GET', `/compute/vms/isos?page_size=500&${query}`)
    return body.isos.map((one: { id: string }) => one.id)
  }
  const [ready, others] = [await ids('is_ready=true'), await ids('is_ready=false')]
  assert.ok(
    others.includes(made.body.id) && !ready.includes(made.body.id) && ready.includes(wellKnown.isos['virtio-win']),
  )
})

test('operating systems are listed with the names that images and machines show', async () => {
  const { body, text } = await lab.call('GET', '/catalog/ostypes?keyword=debian')
  assert.deepEqual(body.os_types, [{ id: OS, name: 'Debian GNU/Linux 12 (64-bit)', category: null }], text)
})

test('projects are listed with their owners, and a caller of a tenant sees its own', async () => {
  const list = async (body: object, token?: string) => (await api.post('/compute/projects/list', body, token)).body
  const { projects } = await list({ state: 'Active' })
  const found = projects.find((one: { id: string }) => one.id === wellKnown.project)
  const project = lab.platform.state.tables.projects.get(wellKnown.project)
  assert.deepEqual([found.name, found.tenant_id], [project?.['name'], project?.['domainid']])
  assert.ok(found.owners.length > 0)
  assert.deepEqual(await list({ id: found.id, name: found.name }), {
    projects: [found],
    count: 1,
    page: 1,
    page_size: 50,
  })
  const other = found.tenant_id === acme ? globex : acme
  assert.deepEqual((await list({}, await api.tokenOf(other))).projects, [])
  assert.deepEqual((await list({ id: NOBODY })).code, 'RESOURCE_NOT_FOUND')
})

test('backups are listed as the platform keeps them, and refused with the reason where it has no provider', async () => {
  const list = (body: object) => api.post('/compute/backups/list', body)
  const [record] = [...lab.platform.state.tables.backups.values()]
  assert.ok(record !== undefined)
  const { body } = await list({ id: record.id })
  const [backup] = body.backups
  assert.deepEqual(
    [backup.id, backup.state, backup.virtual_machine_id],
    [record.id, record.status, record.virtualmachineid],
  )
  assert.deepEqual([backup.disk_bytes, body.count], [record.size_bytes, 1])
  const missing = {
    code: 432,
    text: 'The API [listBackups] does not exist or is not available for the account for user id [1].',
  }
  await api.control('fail', { command: 'listBackups', ...missing, times: 2 })
  const refused = await list({})
  assert.deepEqual([refused.status, refused.body.code], [409, 'BACKUPS_NOT_AVAILABLE'], refused.text)
  assert.match(refused.body.detail, /has no backup provider/)
  const restore = await api.post('/compute/vms/restore', { source: 'backup', backup_id: record.id })
  assert.equal(restore.body.code, 'BACKUPS_NOT_AVAILABLE', restore.text)
})

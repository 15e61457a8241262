// The driver of PowerDNS against the real server, seen from its clients.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { createPowerDns, type PowerDns } from '#src/drivers/powerdns/client.ts'
import { createLog } from '#src/kernel/log.ts'
import { type PowerDnsServer, powerDnsMissing, startPowerDns } from '../support/powerdns-server.ts'
import { startHttpProxy } from '../support/http-proxy.ts'
import { until } from '../support/until.ts'

const ZONE = 'lab.example'
const OPTIONS = {
  name_servers: ['ns1.lab.example'],
  hostmaster: 'hostmaster.lab.example',
  transfer_networks: ['127.0.0.0/8'],
  log: createLog({ level: 'error', hide: [] }),
}

const keyOf = ({ fqdn, type, value }: RecordData): string => `${fqdn} ${type} ${value}`

function record(fields: Partial<RecordData> & Pick<RecordData, 'fqdn' | 'type' | 'value'>): RecordData {
  return { ttl: 300, priority: null, weight: null, port: null, comment: '', ...fields }
}

describe('PowerDNS', { skip: powerDnsMissing() }, () => {
  let server: PowerDnsServer
  let dns: PowerDns
  before(async () => {
    server = await startPowerDns()
    dns = createPowerDns(server.config, OPTIONS)
  })
  after(async () => {
    await dns?.close()
    await server?.close()
  })
  const web = record({ fqdn: `web.${ZONE}`, type: 'A', value: '10.77.0.60' })
  const add = (one: RecordData): Promise<void> => dns.changeRecords(ZONE, [{ action: 'add', record: one }])
  const sorted = (rows: readonly RecordData[]): RecordData[] =>
    rows.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)))

  test('a zone is read back as it was ordered', async () => {
    await dns.check()
    await dns.createZone({ name: ZONE, type: 'Primary', notify: false, transfer: true })
    const zone = await dns.zone(ZONE)
    assert.deepEqual(
      { ...zone, serial: typeof zone?.serial },
      { name: ZONE, type: 'Primary', enabled: true, masters: [], notify: false, transfer: true, serial: 'number', modified_at: null },
    ) // biome-ignore format: one record
    assert.equal(await dns.zone('nowhere.example'), undefined)
    assert.deepEqual((await dns.records(ZONE)).map((one) => one.type).sort(), ['NS', 'SOA'])
  })

  test('records of every type are read back and answered as they were written', async () => {
    const rows = [
      web,
      record({ fqdn: `web.${ZONE}`, type: 'AAAA', value: '2001:db8::60' }),
      record({ fqdn: `www.${ZONE}`, type: 'CNAME', value: `web.${ZONE}` }),
      record({ fqdn: ZONE, type: 'MX', priority: 10, value: `mail.${ZONE}` }),
      record({ fqdn: `_sip._tcp.${ZONE}`, type: 'SRV', priority: 1, weight: 2, port: 5060, value: `web.${ZONE}` }),
      record({ fqdn: `txt.${ZONE}`, type: 'TXT', value: 'a "quoted" text; with \\ and ü' }),
      record({ fqdn: ZONE, type: 'CAA', value: '0 issue "ca.example"', comment: 'only this one' }),
    ]
    await dns.changeRecords(
      ZONE,
      rows.map((one) => ({ action: 'add', record: one })),
    )
    const ours = (await dns.records(ZONE)).filter((one) => one.type !== 'SOA' && one.type !== 'NS')
    assert.deepEqual(sorted(ours), sorted(rows))
    assert.deepEqual(await server.resolver.resolve4(`www.${ZONE}`), ['10.77.0.60'])
    const [[text = ''] = []] = await server.resolver.resolveTxt(`txt.${ZONE}`)
    // The resolver shows each byte as a character.
    assert.equal(Buffer.from(text, 'latin1').toString('utf8'), 'a "quoted" text; with \\ and ü')
    assert.equal((await server.resolver.resolveSrv(`_sip._tcp.${ZONE}`))[0]?.port, 5060)
  })

  test('one line of a set is changed, added and removed without the others', async () => {
    const second = record({ ...web, value: '10.77.0.61' })
    await add(second)
    const moved = record({ ...web, value: '10.77.0.62' })
    await dns.changeRecords(ZONE, [{ action: 'update', old: web, record: moved }])
    assert.deepEqual((await server.resolver.resolve4(`web.${ZONE}`)).sort(), ['10.77.0.61', '10.77.0.62'])
    await dns.changeRecords(ZONE, [{ action: 'delete', old: second }])
    assert.deepEqual(await server.resolver.resolve4(`web.${ZONE}`), ['10.77.0.62'])
    await dns.changeRecords(ZONE, [{ action: 'replace', record: web }])
    assert.deepEqual(await server.resolver.resolve4(`web.${ZONE}`), ['10.77.0.60'])
  })

  test('a batch with one bad record changes nothing', async () => {
    const before = sorted(await dns.records(ZONE))
    const bad = record({ fqdn: `bad.${ZONE}`, type: 'A', value: 'no address' })
    const batch = [record({ fqdn: `good.${ZONE}`, type: 'A', value: '10.77.0.70' }), bad]
    const changes = batch.map((one) => ({ action: 'add' as const, record: one }))
    await assert.rejects(dns.changeRecords(ZONE, changes), { name: 'UpstreamError', status: 422 })
    assert.deepEqual(sorted(await dns.records(ZONE)), before)
  })

  test('an alias may take the place of what is removed in the same batch', async () => {
    const old = record({ fqdn: `swap.${ZONE}`, type: 'A', value: '10.77.0.80' })
    await add(old)
    const alias = record({ fqdn: `swap.${ZONE}`, type: 'CNAME', value: `web.${ZONE}` })
    await dns.changeRecords(ZONE, [
      { action: 'add', record: alias },
      { action: 'delete', old },
    ])
    assert.deepEqual(await server.resolver.resolve4(`swap.${ZONE}`), ['10.77.0.60'])
  })

  test('a name between the zone and a deeper one exists, though nothing else is rectified', async () => {
    await add(record({ fqdn: `deep.down.${ZONE}`, type: 'A', value: '10.77.0.81' }))
    await assert.rejects(server.resolver.resolve4(`down.${ZONE}`), { code: 'ENODATA' })
    await assert.rejects(server.resolver.resolve4(`up.${ZONE}`), { code: 'ENOTFOUND' })
  })

  test('a zone that is off answers nobody, and again when it is on', async () => {
    await dns.changeZone(ZONE, { enabled: false })
    assert.equal((await dns.zone(ZONE))?.enabled, false)
    await assert.rejects(server.resolver.resolve4(`web.${ZONE}`))
    await dns.changeZone(ZONE, { enabled: true })
    assert.deepEqual(await server.resolver.resolve4(`web.${ZONE}`), ['10.77.0.60'])
  })

  test('twenty writers at once lose nothing', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `many-${index}.${ZONE}`)
    await Promise.all(names.map((fqdn) => add(record({ fqdn, type: 'A', value: '10.77.0.90' }))))
    const found = new Set((await dns.records(ZONE)).map((one) => one.fqdn))
    assert.deepEqual(
      names.filter((name) => !found.has(name)),
      [],
    )
  })

  type Line = { content: string; disabled: boolean }
  const put = (name: string, records: readonly Line[], comments: readonly object[] = []): Promise<unknown> => {
    const set = { name: `${name}.`, type: 'A', ttl: 300, changetype: 'REPLACE', records, comments }
    return server.raw(`/zones/${ZONE}.`, 'PATCH', { rrsets: [set] })
  }
  const linesOf = async (name: string): Promise<string[]> => {
    const { rrsets } = (await server.raw(`/zones/${ZONE}.`)) as { rrsets: { name: string; records: Line[] }[] }
    const found = rrsets.find((one) => one.name === `${name}.`)?.records ?? []
    return found.map((line) => `${line.content} ${line.disabled ? 'off' : 'on'}`).toSorted()
  }
  const at = (value: string, fqdn: string) => record({ fqdn, type: 'A', value })
  const on = (content: string): Line => ({ content, disabled: false })
  const off = (content: string): Line => ({ content, disabled: true })

  test('a line that somebody disabled stays as it is when its set is changed', async () => {
    const [part, none] = [`part.${ZONE}`, `off.${ZONE}`]
    await put(part, [on('10.77.0.91'), off('10.77.0.92')])
    await put(none, [off('10.77.0.92')], [{ content: 'not now', account: '' }])
    await add(at('10.77.0.93', part))
    assert.deepEqual(await linesOf(part), ['10.77.0.91 on', '10.77.0.92 off', '10.77.0.93 on'])
    await dns.changeRecords(ZONE, [{ action: 'update', old: at('10.77.0.91', part), record: at('10.77.0.94', part) }])
    await dns.changeRecords(ZONE, [{ action: 'delete', old: at('10.77.0.93', part) }])
    assert.deepEqual(await linesOf(part), ['10.77.0.92 off', '10.77.0.94 on'])
    await dns.changeRecords(ZONE, [{ action: 'delete', old: at('10.77.0.94', part) }])
    assert.deepEqual(await linesOf(part), ['10.77.0.92 off'])
    await add(at('10.77.0.95', none))
    assert.deepEqual(await linesOf(none), ['10.77.0.92 off', '10.77.0.95 on'])
    await add(at('10.77.0.92', none))
    assert.deepEqual(await linesOf(none), ['10.77.0.92 on', '10.77.0.95 on'])
    const star = `*.any.${ZONE}`
    await put(star, [off('10.77.0.96')])
    await add(at('10.77.0.97', star))
    assert.deepEqual(await linesOf(star), ['10.77.0.96 off', '10.77.0.97 on'])
  })

  test('a line that somebody disables in a zone of more than 5,000 sets between two changes stays disabled', async () => {
    const many = Array.from({ length: 5001 }, (_, index) => record({ fqdn: `n-${index}.${ZONE}`, type: 'A', value: '10.77.1.1' })) // biome-ignore format: one row each
    const each = (action: 'add' | 'delete') => many.map((one) => (action === 'add' ? { action, record: one } : { action, old: one })) // biome-ignore format: one thought
    const name = `large.${ZONE}`
    await dns.changeRecords(ZONE, each('add'))
    // As a service that starts with the zone as it is.
    const late = createPowerDns(server.config, OPTIONS)
    const addLate = (value: string) => late.changeRecords(ZONE, [{ action: 'add', record: at(value, name) }])
    await addLate('10.77.0.91')
    await put(name, [on('10.77.0.91'), off('10.77.0.92')])
    await addLate('10.77.0.93')
    await late.close()
    assert.deepEqual(await linesOf(name), ['10.77.0.91 on', '10.77.0.92 off', '10.77.0.93 on'])
    await dns.changeRecords(ZONE, each('delete'))
  })

  test('a record that somebody wrote in other words is changed and removed like any other, and nothing beside it', async () => {
    const written: Record<string, string[]> = {
      TXT: ['"one " "two"', '"\\195\\188mlaut"', '"stays"'],
      MX: ['10 Mail.Example.ORG.', '20 stays.example.'],
      SRV: ['1 2 3 Host.Example.ORG.', '1 2 3 stays.example.'],
      NS: ['NS9.Example.ORG.', 'stays.example.'],
    }
    const fqdn = `hand.${ZONE}`
    const rrsets = Object.entries(written).map(([type, contents]) => ({
      name: `Hand.${ZONE}.`,
      type,
      ttl: 60,
      changetype: 'REPLACE',
      records: contents.map((content) => ({ content, disabled: false })),
    }))
    await server.raw(`/zones/${ZONE}.`, 'PATCH', { rrsets })
    const of = async (type: string): Promise<RecordData[]> =>
      (await dns.records(ZONE, { fqdn })).filter((one) => one.fqdn === fqdn && one.type === type)
    for (const [type, { length }] of Object.entries(written)) {
      const others = (await of(type)).filter(({ value }) => !value.startsWith('stays'))
      assert.equal(others.length, length - 1, type)
      for (const old of others) {
        await dns.changeRecords(ZONE, [{ action: 'update', old, record: { ...old, ttl: 333 } }])
        assert.deepEqual([(await of(type)).length, (await of(type))[0]?.ttl], [length - others.indexOf(old), 333], type)
        await dns.changeRecords(ZONE, [{ action: 'delete', old }])
      }
      assert.deepEqual(
        (await of(type)).map(({ value }) => value.replace('.example', '')),
        ['stays'],
        type,
      )
    }
  })

  test('a record that moves to another name leaves the others of its set, where both names have a comment', async () => {
    const [from, to] = [`from.${ZONE}`, `to.${ZONE}`]
    const comments = [{ content: 'of the office', account: '' }]
    await put(from, [on('10.77.0.91'), on('10.77.0.92')], comments)
    await put(to, [on('10.77.0.93')], comments)
    const old = { ...at('10.77.0.91', from), comment: 'of the office' }
    await dns.changeRecords(ZONE, [{ action: 'update', old, record: { ...old, fqdn: to } }])
    assert.deepEqual([await linesOf(from), await linesOf(to)], [['10.77.0.92 on'], ['10.77.0.91 on', '10.77.0.93 on']])
  })

  test('a zone whose settings are refused does not stay half-made, and a renamed one keeps its name', async () => {
    const proxy = await startHttpProxy(server.config.url ?? '')
    const through = createPowerDns({ ...server.config, url: proxy.url }, OPTIONS)
    try {
      proxy.behave((method, path) =>
        method === 'PUT' && path.endsWith('/metadata/ALLOW-AXFR-FROM') ? 'refuse' : 'pass',
      )
      const half = { name: 'half.example', type: 'Primary', transfer: true } as const
      await assert.rejects(through.createZone(half), { name: 'UpstreamError', status: 500 })
      assert.equal(await dns.zone(half.name), undefined)
      assert.equal((await dns.zone(ZONE))?.transfer, true)
      await assert.rejects(through.renameZone(ZONE, half.name), { name: 'UpstreamError', status: 500 })
      assert.equal(await dns.zone(half.name), undefined)
      assert.deepEqual(await server.resolver.resolve4(`web.${ZONE}`), ['10.77.0.60'])
    } finally {
      await through.close()
      await proxy.close()
    }
  })

  test('a renamed zone answers under its new name and no longer under the old one', async () => {
    await dns.renameZone(ZONE, 'office.example')
    assert.equal(await dns.zone(ZONE), undefined)
    assert.deepEqual(await server.resolver.resolve4('web.office.example'), ['10.77.0.60'])
    await assert.rejects(server.resolver.resolve4('down.office.example'), { code: 'ENODATA' })
    await dns.deleteZone('office.example')
    assert.deepEqual(await dns.zones(), [])
  })

  test('a secondary copies its primary and follows its changes', async () => {
    const second = await startPowerDns()
    const copies = createPowerDns(second.config, OPTIONS)
    try {
      await dns.createZone({ name: ZONE, type: 'Primary', notify: true, transfer: true })
      await add(web)
      const masters = [`127.0.0.1:${server.dns_port}`]
      await copies.createZone({ name: ZONE, type: 'Secondary', masters })
      const copied = async (): Promise<string[]> => second.resolver.resolve4(`web.${ZONE}`)
      await until('the copy answers', async () => (await copied())[0] === '10.77.0.60')
      assert.deepEqual((await copies.zone(ZONE))?.masters, masters)
      await dns.changeRecords(ZONE, [{ action: 'replace', record: record({ ...web, value: '10.77.0.99' }) }])
      await copies.transferZone(ZONE)
      await until('the copy follows', async () => (await copied())[0] === '10.77.0.99')
    } finally {
      await copies.close()
      await second.close()
    }
  })
})

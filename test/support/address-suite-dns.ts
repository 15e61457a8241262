// Zones and records over HTTP.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressBench, RECORDS, ZONES, ZONE, ok, refused } from './address-steps.ts'
import type { Caller } from './http.ts'

export function dnsTests(call: Caller, bench: () => AddressBench): void {
  const record = (fields: Record<string, unknown>) => ({
    zone: ZONE,
    name: 'web',
    type: 'A',
    value: '10.88.0.60',
    ...fields,
  })
  let id = ''

  test('a zone with its reverse zone is made, read back and listed', async () => {
    const body = {
      name: ZONE,
      type: 'Primary',
      comment: 'of the suite',
      create_reverse_zone: true,
      reverse_zone_cidr: '10.88.0.0/24',
    }
    const made = ok(await call('POST', ZONES, body), 201)
    assert.deepEqual([made.zone_name, made.reverse_zones], [ZONE, ['0.88.10.in-addr.arpa']])
    const { zone, statistics } = ok(await call('GET', `${ZONES}/${ZONE}`)).data
    assert.deepEqual([zone.type, zone.status, zone.comment], ['Primary', 'active', 'of the suite'])
    assert.ok(statistics.records_by_type.SOA === 1)
    const listed = ok(await call('GET', `${ZONES}?type=Primary&status=active&include_records=true&page_size=500`)).data
      .zones
    assert.ok(listed.some((one: { name: string; records: unknown[] }) => one.name === ZONE && one.records.length >= 2))
    refused(await call('POST', ZONES, body), 400, 'DNS_ZONE_EXISTS', ZONE)
    refused(await call('POST', ZONES, { name: 'x.example', type: 'Secondary' }), 400, 'INVALID_REQUEST', 'masters')
    refused(await call('POST', ZONES, { name: 'x.example', type: 'Stub' }), 400, 'INVALID_REQUEST', 'type')
    refused(
      await call('POST', ZONES, { name: 'x.example', type: 'Primary', masters: ['192.0.2.1'] }),
      400,
      'INVALID_REQUEST',
      'masters',
    )
    refused(await call('GET', `${ZONES}/nowhere.example`), 404, 'DNS_ZONE_NOT_FOUND')
  })

  test('a record is answered as it was made, back and forth', async () => {
    const made = ok(await call('POST', RECORDS, record({ create_ptr: true, comment: 'front end', ttl: 300 })), 201)
    assert.deepEqual([made.fqdn, made.ptr_created], [`web.${ZONE}`, true])
    id = made.record_id
    assert.deepEqual(await bench().resolve(`web.${ZONE}`, 'A'), ['10.88.0.60'])
    assert.deepEqual(await bench().resolve('60.0.88.10.in-addr.arpa', 'PTR'), [`web.${ZONE}`])
    const one = ok(await call('GET', `${RECORDS}/${ZONE}/${id}`)).data
    assert.deepEqual(
      [one.name, one.type, one.value, one.ttl, one.comment],
      ['web', 'A', '10.88.0.60', 300, 'front end'],
    )
    const found = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=a&search=88.0.6`)).data
    assert.deepEqual([found.total_count, found.records[0].id], [1, id])
    refused(await call('GET', `${RECORDS}/${ZONE}/unknown`), 404, 'DNS_RECORD_NOT_FOUND')
    refused(await call('GET', `${RECORDS}?zone_name=nowhere.example`), 400, 'DNS_ZONE_NOT_FOUND')
  })

  test('a record that cannot be is refused with the field and the reason, and nothing is made', async () => {
    const before = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}`)).data.total_count
    const cases: [Record<string, unknown>, string, string][] = [
      [{}, 'DNS_RECORD_EXISTS', `web.${ZONE}`],
      [{ type: 'CNAME', value: 'other.example' }, 'DNS_RECORD_CONFLICT', 'CNAME'],
      [{ name: '@', type: 'CNAME', value: 'other.example' }, 'INVALID_REQUEST', 'name'],
      [{ type: 'A', value: '999.0.0.1' }, 'INVALID_REQUEST', 'value'],
      [{ type: 'AAAA', value: '10.0.0.1' }, 'INVALID_REQUEST', 'value'],
      [{ type: 'MX', value: `mail.${ZONE}` }, 'INVALID_REQUEST', 'priority'],
      [{ type: 'MX', value: '10.0.0.1', priority: 1 }, 'INVALID_REQUEST', 'value'],
      [{ type: 'SRV', value: `web.${ZONE}`, priority: 1, weight: 1 }, 'INVALID_REQUEST', 'port'],
      [{ type: 'SOA', value: 'x' }, 'INVALID_REQUEST', 'type'],
      [{ name: 'a..b' }, 'INVALID_REQUEST', 'name'],
      [{ name: 'web.elsewhere.example.' }, 'INVALID_REQUEST', 'name'],
      [{ name: 'a.*.b' }, 'INVALID_REQUEST', 'asterisk'],
      [{ ttl: -1 }, 'INVALID_REQUEST', 'ttl'],
      [{ ttl: 2_147_483_648 }, 'INVALID_REQUEST', 'ttl'],
      [{ type: 'TXT', value: 'two\nlines' }, 'INVALID_REQUEST', 'value'],
      [{ zone: 'nowhere.example' }, 'DNS_ZONE_NOT_FOUND', 'nowhere.example'],
      [{ type: 'TXT', value: 'x', create_ptr: true }, 'INVALID_REQUEST', 'create_ptr'],
    ]
    for (const [change, code, word] of cases) refused(await call('POST', RECORDS, record(change)), 400, code, word)
    assert.equal(ok(await call('GET', `${RECORDS}?zone_name=${ZONE}`)).data.total_count, before)
  })

  test('a text with quotes, semicolons and other alphabets comes back as it was', async () => {
    const value = 'v=1; say "hello" \\ — ü'
    ok(await call('POST', RECORDS, record({ name: 'txt', type: 'TXT', value })), 201)
    const [found] = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=TXT`)).data.records
    assert.equal(found.value, value)
    assert.deepEqual(await bench().resolve(`txt.${ZONE}`, 'TXT'), [value])
  })

  test('a changed record keeps its id, and its reverse record follows', async () => {
    const path = `${RECORDS}/${ZONE}/${id}`
    const change = { record_id: id, zone: ZONE }
    const changed = ok(await call('PUT', path, { ...change, value: '10.88.0.61', name: 'www', update_ptr: true }))
    assert.deepEqual([changed.record_id, changed.name, changed.value], [id, 'www', '10.88.0.61'])
    assert.equal(await bench().resolve(`web.${ZONE}`, 'A'), undefined)
    assert.deepEqual(await bench().resolve(`www.${ZONE}`, 'A'), ['10.88.0.61'])
    assert.equal(await bench().resolve('60.0.88.10.in-addr.arpa', 'PTR'), undefined)
    assert.deepEqual(await bench().resolve('61.0.88.10.in-addr.arpa', 'PTR'), [`www.${ZONE}`])
    assert.equal(ok(await call('GET', path)).data.comment, 'front end')
    refused(await call('PUT', path, { ...change, record_id: 'other' }), 400, 'INVALID_REQUEST', 'record_id')
    refused(await call('PUT', path, { ...change, zone: 'nowhere.example' }), 400, 'INVALID_REQUEST', 'zone')
  })

  test('a bulk changes what it can and says of each operation what became of it', async () => {
    const operations = [
      { action: 'ADD', record: record({ name: 'bulk-1', value: '10.88.0.71' }) },
      { action: 'ADD', record: record({ name: 'bulk-2', value: 'no address' }) },
      {
        action: 'UPDATE',
        old_record: { name: 'bulk-1', type: 'A' },
        record: record({ name: 'bulk-1', value: '10.88.0.72' }),
      },
      { action: 'DELETE', old_record: { name: 'nobody', type: 'A' } },
      { action: 'DELETE', old_record: { name: 'txt', type: 'TXT' } },
    ]
    const reply = await call('POST', `${RECORDS}/bulk`, { zone: ZONE, operations })
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual([reply.body.total, reply.body.succeeded, reply.body.failed, reply.body.success], [5, 3, 2, false])
    const states = reply.body.results.map((one: { status: string; code: string | null }) => one.code ?? one.status)
    assert.deepEqual(states, ['succeeded', 'INVALID_REQUEST', 'succeeded', 'DNS_RECORD_NOT_FOUND', 'succeeded'])
    assert.deepEqual(await bench().resolve(`bulk-1.${ZONE}`, 'A'), ['10.88.0.72'])
    refused(await call('POST', `${RECORDS}/bulk`, { zone: 'nowhere.example', operations }), 400, 'DNS_ZONE_NOT_FOUND')
  })

  test('a zone is exported, and imported into another with every problem named by its line', async () => {
    const exported = await call('GET', `${ZONES}/${ZONE}/export`)
    assert.equal(exported.status, 200)
    assert.match(exported.text, /^\$ORIGIN suite\.example\.\n/)
    assert.match(exported.text, /www 300 IN A 10\.88\.0\.61/)
    ok(await call('POST', ZONES, { name: 'copy.example', type: 'Primary' }), 201)
    const bad = await call('POST', `${ZONES}/copy.example/import`, {
      zone_file: 'a IN A 10.0.0.1\nb IN A nonsense\n$INCLUDE x\n',
    })
    refused(bad, 400, 'INVALID_REQUEST', 'line 2', 'nothing was changed')
    assert.equal(bad.body.errors.length, 2)
    const zone_file = '$TTL 10m\n@ IN MX 10 mail\nmail A 10.0.0.9 ; comment\nlong TXT ( "one "\n "two" )\n'
    const imported = ok(await call('POST', `${ZONES}/copy.example/import`, { zone_file }))
    assert.equal(imported.imported, 3)
    assert.deepEqual(await bench().resolve('mail.copy.example', 'A'), ['10.0.0.9'])
    assert.deepEqual(await bench().resolve('long.copy.example', 'TXT'), ['one two'])
    refused(await call('POST', `${ZONES}/copy.example/import`, { zone_file }), 400, 'INVALID_REQUEST', 'already')
    assert.equal(ok(await call('POST', `${ZONES}/copy.example/import`, { zone_file, overwrite: true })).replaced, 3)
    refused(await call('POST', `${ZONES}/nowhere.example/import`, { zone_file }), 404, 'DNS_ZONE_NOT_FOUND')
  })

  test('a paused zone is kept and not answered, a renamed one answers under its new name', async () => {
    ok(await call('PUT', `${ZONES}/copy.example`, { name: 'copy.example', status: 'paused' }))
    assert.equal(await bench().resolve('mail.copy.example', 'A'), undefined)
    assert.equal(ok(await call('GET', `${ZONES}/copy.example`)).data.zone.status, 'paused')
    assert.equal(ok(await call('GET', `${ZONES}?status=paused`)).data.total_count, 1)
    ok(
      await call('PUT', `${ZONES}/copy.example`, {
        name: 'copy.example',
        status: 'active',
        new_name: 'renamed.example',
      }),
    )
    assert.deepEqual(await bench().resolve('mail.renamed.example', 'A'), ['10.0.0.9'])
    refused(await call('DELETE', `${ZONES}/copy.example?confirm=copy.example`), 404, 'DNS_ZONE_NOT_FOUND')
    for (const action of ['transfer', 'notify'])
      refused(await call('POST', `${ZONES}/copy.example/${action}`), 404, 'DNS_ZONE_NOT_FOUND')
    refused(await call('GET', `${ZONES}/copy.example/export`), 404, 'DNS_ZONE_NOT_FOUND')
    refused(await call('GET', `${ZONES}/copy.example`), 404, 'DNS_ZONE_NOT_FOUND')
    refused(await call('DELETE', `${ZONES}/renamed.example?confirm=copy.example`), 400, 'INVALID_REQUEST', 'confirm')
    refused(await call('POST', `${ZONES}/renamed.example/transfer`), 400, 'DDI_UNSUPPORTED')
    ok(await call('POST', `${ZONES}/renamed.example/notify`))
    ok(await call('DELETE', `${ZONES}/renamed.example?confirm=renamed.example`))
    refused(await call('PUT', `${ZONES}/renamed.example`, { name: 'renamed.example' }), 400, 'DNS_ZONE_NOT_FOUND')
  })

  test('a copy is read-only, is copied on request, and becomes a zone of its own without its masters', async () => {
    const name = 'second.example'
    refused(await call('POST', ZONES, { name, type: 'Secondary' }), 400, 'INVALID_REQUEST', 'masters')
    // Nothing listens there: what it would copy does not matter here.
    const masters = ['127.0.0.1:9']
    ok(await call('POST', ZONES, { name, type: 'Secondary', masters }), 201)
    const { zone } = ok(await call('GET', `${ZONES}/${name}`)).data
    assert.deepEqual([zone.type, zone.masters], ['Secondary', masters])
    ok(await call('POST', `${ZONES}/${name}/transfer`))
    const body = { zone: name, name: 'www', type: 'A', value: '10.88.0.62' }
    refused(await call('POST', RECORDS, body), 400, 'DNS_ZONE_READ_ONLY', name, 'Secondary')
    const zone_file = 'www A 10.88.0.62\n'
    refused(await call('POST', `${ZONES}/${name}/import`, { zone_file }), 400, 'DNS_ZONE_READ_ONLY')
    const operations = [{ action: 'ADD', record: body }]
    refused(await call('POST', `${RECORDS}/bulk`, { zone: name, operations }), 400, 'DNS_ZONE_READ_ONLY')
    refused(await call('POST', `${ZONES}/${name}/notify`), 400, 'DDI_UNSUPPORTED')
    ok(await call('PUT', `${ZONES}/${name}`, { name, type: 'Primary' }))
    assert.equal(ok(await call('GET', `${ZONES}/${name}`)).data.zone.type, 'Primary')
    ok(await call('DELETE', `${ZONES}/${name}?confirm=${name}`))
  })

  test('a subnet has its reverse zones by whole octets, and one that is smaller lies in that of its /24', async () => {
    const name = 'reverse.example'
    const cases: [string, string[]][] = [
      ['10.89.0.0/25', ['0.89.10.in-addr.arpa']],
      ['10.89.1.128/31', ['1.89.10.in-addr.arpa']],
      ['10.89.4.0/23', ['4.89.10.in-addr.arpa', '5.89.10.in-addr.arpa']],
      ['2001:db8:8::/47', ['8.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa', '9.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa']],
    ]
    for (const [reverse_zone_cidr, zones] of cases) {
      const body = { name, type: 'Primary', create_reverse_zone: true, reverse_zone_cidr }
      assert.deepEqual(ok(await call('POST', ZONES, body), 201).reverse_zones, zones, reverse_zone_cidr)
      for (const zone of [name, ...zones]) ok(await call('DELETE', `${ZONES}/${zone}?confirm=${zone}`))
    }
    for (const reverse_zone_cidr of ['10.89.0.1/24', '10.0.0.0/4', '2001:db8::1/64', '0.0.0.0/0', '10.0.0.0/33']) {
      const body = { name, type: 'Primary', create_reverse_zone: true, reverse_zone_cidr }
      refused(await call('POST', ZONES, body), 400, 'INVALID_REQUEST', 'reverse_zone_cidr')
    }
  })

  test('a search finds names and values in any case, right after each change, and nothing that spans two records', async () => {
    const name = 'search.example'
    ok(await call('POST', ZONES, { name, type: 'Primary' }), 201)
    const model = new Map<string, string>()
    const found = async (text: string): Promise<string[]> => {
      const path = `${RECORDS}?zone_name=${name}&record_type=TXT&search=${encodeURIComponent(text)}`
      const { records, total_count } = ok(await call('GET', path)).data
      assert.equal(total_count, records.length)
      return records.map((row: { name: string; value: string }) => `${row.name}=${row.value}`)
    }
    const expected = (text: string): string[] =>
      [...model.values()].filter((row) => `${row.replace('=', `.${name}=`)}`.toLowerCase().includes(text.toLowerCase()))
    const agrees = async (): Promise<void> => {
      for (const text of ['AB', 'ü', 'search.EXAMPLE', 'b=c', 'x'])
        assert.deepEqual((await found(text)).toSorted(), expected(text).toSorted(), text)
    }
    await agrees()
    const words = ['ab', 'a', 'x1', 'a.b', 'zz']
    const ids: string[] = []
    for (const [index, word] of words.entries()) {
      const value = `b=c ${'Ü'.repeat(index % 3)} ${word.toUpperCase()}`
      const body = { zone: name, name: word, type: 'TXT', value }
      ids.push(ok(await call('POST', RECORDS, body), 201).record_id)
      model.set(ids[index] ?? '', `${word}=${value}`)
      await agrees()
    }
    for (const [index, id_of] of ids.entries()) {
      const path = `${RECORDS}/${name}/${id_of}`
      if (index % 2 === 0) ok(await call('DELETE', path))
      else ok(await call('PUT', path, { zone: name, record_id: id_of, name: `moved-${index}`, value: 'x' }))
      model.delete(id_of)
      if (index % 2 === 1) model.set(id_of, `moved-${index}=x`)
      await agrees()
    }
    ok(await call('DELETE', `${ZONES}/${name}?confirm=${name}`))
  })

  test('a record is deleted with its reverse record', async () => {
    ok(await call('DELETE', `${RECORDS}/${ZONE}/${id}?delete_ptr=true`))
    assert.equal(await bench().resolve(`www.${ZONE}`, 'A'), undefined)
    assert.equal(await bench().resolve('61.0.88.10.in-addr.arpa', 'PTR'), undefined)
    refused(await call('DELETE', `${RECORDS}/${ZONE}/${id}`), 404, 'DNS_RECORD_NOT_FOUND')
    const [ns] = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=NS`)).data.records
    refused(await call('DELETE', `${RECORDS}/${ZONE}/${ns.id}`), 400, 'DNS_RECORD_CONFLICT', 'last name server')
  })
}

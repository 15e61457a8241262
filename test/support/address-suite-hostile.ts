// Values that are syntax somewhere: each is kept and answered as it was sent, or refused with nothing changed, and none reaches a
// configuration, a shell, or a zone that was not named.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { type AddressBench, mac, ok, RECORDS, RESERVATIONS, SCOPES, ZONES } from './address-steps.ts'
import type { Caller, Reply } from './http.ts'
import { tempFolder } from './temp-folder.ts'

const SCOPE = 'values'
const ZONE = 'values.example'
const OTHER = 'neighbour.example'
const MARK = join(tempFolder('gp-'), 'shell')

const ACCEPTED = [
  '"', "'", '\\', ';', '#', '//', '/*', '*/', '(', ')', '{}', '[]', '",', '"}],', '$', '%s%n', '%00', '<>&', '../../', '\u2028', '😀',
  `$(touch ${MARK})`, `\`touch ${MARK}\``, `| touch ${MARK} ;`, `'; touch ${MARK} #`, '{{7*7}}', '${7*7}', "' or 1=1 --", 'ü\\ü',
  '<?include "/etc/passwd"?>', '"], "hooks-libraries": [{"library": "/tmp/x.so"}], "x": ["', '\\u0000', '\\000', '\\034', '\\"', '\\', 'ü',
  '$INCLUDE /etc/passwd', `$ORIGIN ${OTHER}.`, '$GENERATE 1-3 a$ A 10.6.6.$', '@ 60 IN A 10.6.6.6', `www.${OTHER}. 60 IN A 10.6.6.6`,
  `" ; www.${OTHER}. 60 IN A 10.6.6.6`, `&zone=${OTHER}&domain=www.${OTHER}&overwrite=true`,
] // biome-ignore format: a table
const REFUSED = ['\r\n', '\0', '\u001b[31m', '\u007f', '\ud800', `x\nwww.${OTHER}. 60 IN A 10.6.6.6`]
const AT_ONCE = 6
const RUNS = 3
const SEED = 20

export function hostileTests(call: Caller, bench: () => AddressBench): void {
  let stored: unknown
  let address = ''
  before(async () => {
    for (const name of [ZONE, OTHER]) ok(await call('POST', ZONES, { name, type: 'Primary' }), 201)
    ok(await call('POST', RECORDS, { zone: OTHER, name: 'www', type: 'A', value: '10.84.0.60' }), 201)
    const scope = { name: SCOPE, network_cidr: '10.84.0.0/24', start_address: '10.84.0.10', end_address: '10.84.0.29', gateway: '10.84.0.1' } // biome-ignore format: one scope
    ok(await call('POST', SCOPES, scope), 201)
    address = ok(await call('POST', RESERVATIONS, { scope_name: SCOPE, mac: mac(200), hostname: 'kept' }), 201).ip
    stored = await othersNow()
  })
  after(async () => {
    for (const name of [ZONE, OTHER]) await call('DELETE', `${ZONES}/${name}?confirm=${name}`)
    await call('DELETE', `${SCOPES}/${SCOPE}?force=true`)
  })

  /** All that none of these values may change. */
  async function othersNow(): Promise<unknown> {
    const { zones } = ok(await call('GET', `${ZONES}?page_size=500`)).data
    const names = zones.map((zone: { name: string }) => zone.name)
    const { records } = ok(await call('GET', `${RECORDS}?zone_name=${OTHER}`)).data
    return { names, records, on_servers: await bench().stored?.(ZONE) }
  }
  const change = (fields: object): Promise<Reply> =>
    call('PUT', `${RESERVATIONS}/${mac(200)}`, { mac: mac(200), scope_name: SCOPE, ...fields })
  const reserved = async () => ok(await call('GET', `${RESERVATIONS}?scope_name=${SCOPE}`)).data.reservations
  const texts = async () => ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=TXT`)).data.records
  const record = (fields: object) => ({ zone: ZONE, name: 'text', type: 'TXT', value: 'x', ...fields })

  test('a value that is syntax elsewhere is kept and answered as it was sent, and changes nothing else', async () => {
    const groups = Array.from({ length: Math.ceil(ACCEPTED.length / AT_ONCE) }, (_, index): [string] => [
      ACCEPTED.slice(index * AT_ONCE, (index + 1) * AT_ONCE).join(' '),
    ])
    const values = fc.shuffledSubarray(ACCEPTED, { minLength: 2, maxLength: AT_ONCE }).map((parts) => parts.join(''))
    const options = { examples: groups, numRuns: groups.length + RUNS, seed: SEED, endOnFailure: true }
    await fc.assert(fc.asyncProperty(values, comesBack), options)
    assert.equal(existsSync(MARK), false)
    assert.deepEqual(await othersNow(), stored)
    await bench().restart?.()
    assert.deepEqual(await othersNow(), stored)
    assert.deepEqual(await bench().resolve(`www.${OTHER}`, 'A'), ['10.84.0.60'])
  })

  async function comesBack(value: string): Promise<void> {
    ok(await change({ comment: value }))
    const [row, ...more] = await reserved()
    assert.deepEqual([row.comment, row.ip, row.hostname, more], [value, address, 'kept', []])
    const made = ok(await call('POST', RECORDS, record({ value, comment: value, overwrite: true })), 201)
    const [text, ...others] = await texts()
    assert.deepEqual([text.value, text.comment, text.fqdn, others], [value, value, `text.${ZONE}`, []])
    assert.deepEqual(await bench().resolve(`text.${ZONE}`, 'TXT'), [value])
    // As a name it is none, and as a zone file it is nothing of this zone.
    const file = `text TXT "${value.replace(/["\\]/g, '\\$&')}"\n`
    for (const wrong of [record({ name: value }), record({ type: 'A', value }), record({ type: 'CAA', value })])
      clearly(await call('POST', RECORDS, wrong))
    clearly(await change({ hostname: value }))
    ok(await call('DELETE', `${RECORDS}/${ZONE}/${made.record_id}`))
    ok(await call('POST', `${ZONES}/${ZONE}/import`, { zone_file: file }))
    const [imported] = await texts()
    assert.equal(imported.value, value)
    ok(await call('PUT', `${ZONES}/${ZONE}`, { name: ZONE, comment: value }))
    assert.equal(ok(await call('GET', `${ZONES}/${ZONE}`)).data.zone.comment, value)
    ok(await call('PUT', `${SCOPES}/${SCOPE}`, { name: SCOPE, description: value }))
    assert.equal(ok(await call('GET', `${SCOPES}/${SCOPE}`)).data.scope.description, value)
  }

  function clearly(reply: Reply): void {
    assert.equal(reply.status, 400, reply.text)
    assert.match(reply.body.code, /^(INVALID_REQUEST|DNS_REJECTED)$/, reply.text)
  }

  test('control characters, halves of characters and files for other zones are refused, and nothing changes', async () => {
    const before = [await reserved(), await texts()]
    for (const value of REFUSED) {
      clearly(await change({ comment: value }))
      clearly(await change({ hostname: value }))
      for (const wrong of [{ value }, { comment: value }, { name: value }])
        clearly(await call('POST', RECORDS, record(wrong)))
      clearly(await call('PUT', `${ZONES}/${ZONE}`, { name: ZONE, comment: value }))
      clearly(await call('PUT', `${SCOPES}/${SCOPE}`, { name: SCOPE, description: value }))
    }
    const files = [
      `$ORIGIN ${OTHER}.\nwww 60 IN A 10.6.6.6\n`,
      `www.${OTHER}. 60 IN A 10.6.6.6\n`,
      '$INCLUDE /etc/passwd\n',
      '$GENERATE 1-3 a$ A 10.6.6.$\n',
      'a TXT "x\\010y"\n',
      'a"b TXT x\n',
      'a MX many mail\n',
      'a 99999999999 A 10.6.6.6\n',
    ]
    for (const zone_file of files) {
      clearly(await call('POST', `${ZONES}/${ZONE}/import`, { zone_file }))
      clearly(await call('POST', `${ZONES}/${ZONE}/import`, { zone_file, overwrite: true }))
    }
    clearly(await call('POST', RECORDS, record({ type: 'LUA', value: `A "os.execute('touch ${MARK}')"` })))
    assert.deepEqual([await reserved(), await texts()], before)
    assert.deepEqual(await othersNow(), stored)
    assert.equal(existsSync(MARK), false)
  })

  test('a name below a zone of its own stays in the zone that was named, or is refused', async () => {
    const child = `child.${ZONE}`
    ok(await call('POST', ZONES, { name: child, type: 'Primary' }), 201)
    const inChild = async (): Promise<string[]> =>
      ok(await call('GET', `${RECORDS}?zone_name=${child}`)).data.records.map((row: { fqdn: string }) => row.fqdn)
    const before = await inChild()
    const reply = await call('POST', RECORDS, record({ name: 'www.child', type: 'A', value: '10.84.0.61' }))
    if (reply.status === 201) {
      const { records } = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&search=www.child`)).data
      assert.equal(records[0]?.fqdn, `www.${child}`)
    } else clearly(reply)
    assert.deepEqual(await inChild(), before)
    ok(await call('DELETE', `${ZONES}/${child}?confirm=${child}`))
  })
}

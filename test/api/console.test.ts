// How the console is served: one page for all of its addresses, files that may be cached for good, and a strict policy.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { areas } from '#src/contract/index.ts'
import { commandShapes } from '../../cli/command-shapes.ts'
import { createConsoleFiles } from '#src/modules/console/files.ts'
import { contractDetails, contractTable } from '#src/modules/console/contract-table.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab.close())

/** As it travels: nothing is unpacked. */
async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${lab.url}${path}`, { headers })
  return {
    status: answer.statusCode,
    header: (name: string) => String(answer.headers[name] ?? ''),
    bytes: Buffer.from(await answer.body.arrayBuffer()),
  }
}

const assetsOf = (page: string): string[] => [...new Set(page.match(/\/console\/assets\/[\w.-]+/g))]

test('every address below /console answers the page, without a token, and with a policy that lets nothing in', async () => {
  const page = await get('/console')
  assert.equal(page.status, 200)
  assert.match(page.header('content-type'), /^text\/html/)
  assert.equal(page.header('cache-control'), 'no-store')
  const policy = page.header('content-security-policy')
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /require-trusted-types-for 'script'/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  for (const path of ['/console/', '/console/vms/4d9ae3d4', '/console/nodes/10.1.0.12']) {
    assert.deepEqual((await get(path)).bytes, page.bytes, path)
  }
  assert.doesNotMatch(page.bytes.toString(), /<style|<script>|https?:\/\//)
})

test('the files of the page are named by their content, precompressed, and may be cached for good', async () => {
  const assets = assetsOf((await get('/console')).bytes.toString())
  // Two scripts, what they share with pages that are fetched later, a style sheet, the contract.
  assert.ok(assets.length >= 5)
  for (const path of assets) {
    const packed = await get(path, { 'accept-encoding': 'gzip, br' })
    const plain = await get(path)
    assert.deepEqual([packed.status, plain.status], [200, 200], path)
    assert.equal(packed.header('content-encoding'), 'br')
    assert.equal(plain.header('content-encoding'), '')
    assert.deepEqual(brotliDecompressSync(packed.bytes), plain.bytes)
    assert.match(packed.header('cache-control'), /max-age=31536000, immutable/)
    assert.match(packed.header('vary'), /accept-encoding/i)
    assert.match(packed.header('content-security-policy'), /^default-src 'none'; connect-src 'self'/)
  }
  const script = assets.find((path) => path.includes('main-') && path.endsWith('.js')) ?? ''
  const zipped = await get(script, { 'accept-encoding': 'gzip' })
  assert.deepEqual(gunzipSync(zipped.bytes), (await get(script)).bytes)
})

test('the scripts and the style that a browser fetches stay within 180 kB and 24 kB', async () => {
  const assets = assetsOf((await get('/console')).bytes.toString())
  const sizes = await Promise.all(
    assets.map(async (path) => (await get(path, { 'accept-encoding': 'gzip, br' })).bytes.length),
  )
  const total = (end: string) => sizes.reduce((sum, size, at) => sum + (assets[at]?.endsWith(end) ? size : 0), 0)
  assert.ok(total('.js') <= 180_000, `${total('.js')} bytes of script`)
  assert.ok(total('.css') <= 24_000, `${total('.css')} bytes of style`)
})

test('the page leads to the identity provider where one is configured, and only there', async () => {
  const { body } = await createConsoleFiles({ oidc: true, commands: async () => commandShapes() }).page()
  assert.match(String(body), /<meta name="console-oidc" content="\/auth\/oidc\/start">/)
  assert.doesNotMatch((await get('/console')).bytes.toString(), /console-oidc/)
})

test('a file of another version is not there, and says so', async () => {
  const { status, bytes, header } = await get('/console/assets/main-OLDONE.js')
  assert.equal(status, 404)
  assert.equal(header('cache-control'), 'no-store')
  assert.match(bytes.toString(), /This version of the console has no file main-OLDONE\.js/)
})

test('a browser that opens the address of the service is sent to the console, another program to the reference', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
  assert.deepEqual([browser.status, browser.header('location')], [302, '/console'])
  const program = await get('/', { accept: '*/*' })
  assert.deepEqual([program.status, program.header('location')], [302, '/docs'])
})

test('the console knows every operation that people call, with what its form needs', () => {
  const wanted = areas.flatMap(({ routes }) =>
    Object.entries(routes)
      .filter(
        ([, { access, hidden, kind = 'json' }]) => /viewer|operator|admin/.test(access) && !hidden && kind === 'json',
      )
      .map(([operation]) => operation),
  )
  assert.deepEqual(Object.keys(contractTable()), wanted)
  assert.deepEqual(Object.keys(contractDetails(commandShapes())), wanted)
  const { vmStart, vmList, nodeGet } = contractTable()
  assert.deepEqual(vmStart?.ids, ['virtual_machine_id'])
  assert.deepEqual([vmList?.list, vmList?.paged], ['virtual_machines', true])
  assert.deepEqual(nodeGet?.ids, ['bmcIP'])
})

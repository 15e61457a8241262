// An operator's first hour: what README and guides show is pasted, block by block, into a shell beside a fresh lab.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Child, createChildren } from '../support/children.ts'
import { type Caller, callerFor } from '../support/http.ts'
import { processesOf } from '../support/processes.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const SHELL_TIMEOUT_MS = 400_000
const children = createChildren()
let state_dir: string
let lab: Child
let address: string
let call: Caller

before(async () => {
  const folder = tempFolder('gp-first-hour-')
  // The account of the database must be able to pass.
  chmodSync(folder, 0o755)
  state_dir = join(folder, 'state')
  const args = ['bin/lab.ts', '--port', '0', '--state', state_dir, '--no-cameras', '--vms', '12']
  lab = children.start(process.execPath, args, { cwd: ROOT })
  const text = await until(
    'the lab says that it is ready',
    () => {
      if (lab.ended()) throw new Error(`the lab ended: ${lab.errors()}${lab.output()}`)
      return lab.output().includes('Ctrl-C') && lab.output()
    },
    120_000,
  )
  const said = (label: string): string => new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(text)?.[1] ?? ''
  address = said('API').replace('http://', '')
  call = callerFor(said('API'), said('Admin token'))
  await until(
    'every node was judged',
    async () => {
      const { body } = await call('GET', '/configure/nodes?status=online')
      return body.nodes.length === 3 && body.nodes.every(({ health }: { health: string | null }) => health !== null)
    },
    120_000,
  )
})
after(async () => {
  if (lab !== undefined && !lab.ended()) await lab.end('SIGINT')
  await children.close()
  await until('the database has followed', () => state_dir === undefined || processesOf(state_dir).length === 0)
})

/** The blocks of a document that are for a shell, in order. */
function blocksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  return [...text.matchAll(/^( *)```sh\n([^]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

/** One shell for all blocks, as a person has it, which ends at the first command that fails. What each block printed. */
async function paste(blocks: readonly string[]): Promise<string[]> {
  const mark = '---next-block---'
  const script = blocks.join(`echo ${mark}\n`).replaceAll('127.0.0.1:8080', address)
  const { PATH } = process.env
  const shell = spawn('sh', ['-eux', '-c', script], {
    cwd: ROOT,
    env: { PATH, HOME: state_dir, TZ: 'UTC', GROUNDPLANE_STATE: state_dir, XDG_CACHE_HOME: join(state_dir, 'cache') },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: SHELL_TIMEOUT_MS,
  })
  const [output, errors]: [string[], string[]] = [[], []]
  shell.stdout.setEncoding('utf8').on('data', (text: string) => output.push(text))
  shell.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  const status = await new Promise((resolve, reject) => shell.on('error', reject).on('close', resolve))
  assert.equal(status, 0, `${output.join('')}\n${errors.join('')}`)
  return output.join('').split(`${mark}\n`)
}

/** What a block must have printed, in the order of the blocks. */
function assertShown(shown: readonly string[], expected: readonly (RegExp | readonly RegExp[])[]): void {
  assert.equal(shown.length, expected.length)
  for (const [at, patterns] of expected.entries())
    for (const pattern of Array.isArray(patterns) ? patterns : [patterns]) assert.match(shown[at] ?? '', pattern)
}

test('the twelve tasks of an operator are done by the command line alone, by names, as the guide shows them', {
  timeout: 420_000,
}, async () => {
  const shown = await paste(blocksOf('docs/guides/first-hour.md'))
  assertShown(shown, [
    [/connection +ok/, /token +ok/, /service +ok/],
    [/critical +1[^]*kvm-02/, /CREATED_AT +STATUS +ACTION/],
    /web-01/,
    [/carrier/, /INTERFACENAME/, /kvm-01[^]*kvm-02[^]*mgmt-01/],
    [/name +shop-01[^]*state +Running/, /name +shop-02[^]*state +Running/],
    [/state +Stopped[^]*state +Running/],
    /http\S+noVNC/,
    [/203\.0\.113\.60/, /8443 .*shop-01/],
    /host_name +kvm-0[1-5]/,
    [/vmStart[^]*vmStop[^]*vmProvision/, /OPERATION/],
    [/initech/, /instances +2/, /gp_/],
    [/dry_run +yes/, /status +consistent/],
    [/shop-01 +Stopped/, /shop-02 +Stopped/],
  ])
  // The host was emptied: its list ends the block.
  assert.doesNotMatch((shown[8] ?? '').split('\n').at(-2) ?? '', /Running/)
  const machines = await call('POST', '/compute/vms/list', { keyword: 'shop-0', state: 'Stopped' })
  assert.equal(machines.body.count, 2)
})

test('the guide for what fails shows the cause and the way out of it', { timeout: 420_000 }, async () => {
  const [start = ''] = blocksOf('docs/guides/first-hour.md')
  const [, ...shown] = await paste([start, ...blocksOf('docs/guides/when-something-fails.md')])
  assertShown(shown, [
    /connection +ok/,
    /FAILED +nodeHealthChange/,
    [/refused with exit code 5/, /name +lab-9[^]*state +Running/],
    [/vmProvision/, /lab-9[^]*is running/],
    [/kvm-02/, /critical/, /SEVERITY/],
    /DESCRIPTION/,
  ])
})

test('what the README shows to try works as it stands', { timeout: 420_000 }, async () => {
  const blocks = blocksOf('README.md')
  const [start = '', ...tried] = blocks
  assert.equal(start, 'npm start\n')
  const [commands = '', aggregate = ''] = await paste(tried)
  assert.match(commands, /web-01[^]*state +Running[^]*critical/)
  assert.match(aggregate, /"running":\d+/)
})

// A database that is away when the service starts: it says so, waits, and serves as soon as it can.
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { type Child, createChildren } from '../support/children.ts'
import { debianPostgresMissing, startDebianPostgres } from '../support/debian-postgres.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/cli.ts')
const CONFIGURES = /^(DATABASE_URL$|GROUNDPLANE_)/

let database: TestDatabase
let folder: string
const children = createChildren()
before(async () => {
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'gp-start-'))
})
after(async () => {
  await children.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

let started = 0

function startControl(url: string): Child {
  const config = join(folder, `control-${started++}.json`)
  const data_dir = join(folder, `data-${started}`)
  writeFileSync(config, JSON.stringify({ listen: { port: 0 }, data_dir, database: { url } }), { mode: 0o600 })
  return children.start(process.execPath, [PROGRAM, 'control', '--config', config], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !CONFIGURES.test(name))),
  })
}

function lineOf(child: Child, message: string): Record<string, unknown> | undefined {
  const line = child.output().split('\n').find((one) => one.includes(`"${message}"`)) // biome-ignore format: short
  return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>)
}

const WAITING = 'waiting for the database'
const urlOf = (child: Child) =>
  until('it listens', () => {
    if (child.ended()) throw new Error(`it ended: ${child.errors()}${child.output()}`)
    return lineOf(child, 'control plane listens')?.['url'] as string | undefined
  })

/** Leads to the test's database while it is open; until then its port refuses. */
async function gateway(t: TestContext): Promise<{ port: number; open(): Promise<void> }> {
  const { connection } = database
  const sockets = new Set<Socket>()
  const port = await freeTcpPort()
  let server: Server | undefined
  t.after(() => {
    server?.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port,
    async open() {
      const { connect } = await import('node:net')
      server = createServer((inside) => {
        const outside = connection.host.startsWith('/')
          ? connect(`${connection.host}/.s.PGSQL.${connection.port}`)
          : connect(connection.port, connection.host)
        for (const socket of [inside, outside]) {
          sockets.add(socket)
          socket.on('error', () => {})
          socket.on('close', () => [inside, outside].forEach((one) => one.destroy()))
        }
        inside.pipe(outside).pipe(inside)
      }).listen(port, '127.0.0.1')
      await new Promise((resolve) => server?.once('listening', resolve))
    },
  }
}

const away = (port: number): string =>
  `postgres://${database.connection.user}:planted-db-word@127.0.0.1:${port}/${database.connection.database}`

test('it waits for a database that is away, says why, and serves when the database is there', async (t) => {
  const gate = await gateway(t)
  const control = startControl(away(gate.port))
  const url = await urlOf(control)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  await until('it has tried the database', () => lineOf(control, WAITING))
  const ready = await fetch(`${url}/readyz`)
  const problem = (await ready.json()) as { code: string; detail: string }
  assert.deepEqual([ready.status, problem.code], [503, 'NOT_READY'])
  assert.match(problem.detail, /waits for the database, which refuses connections/)
  const other = await fetch(`${url}/version`)
  assert.equal(((await other.json()) as { code: string }).code, 'NOT_READY')
  assert.notEqual(other.headers.get('retry-after'), null)
  await gate.open()
  await until('it is ready', async () => (await fetch(`${url}/readyz`)).status === 200)
  const token = readFileSync(join(folder, `data-${started}`, 'admin-token'), 'utf8').trim()
  assert.equal((await fetch(`${url}/version`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  await control.end('SIGTERM')
})

test('a wrong password is said in the log and by /readyz, without the password, and it goes on waiting', {
  skip: debianPostgresMissing(),
}, async (t) => {
  const server = await startDebianPostgres()
  t.after(() => server.close())
  const wrong = new URL(server.url)
  wrong.password = 'planted-db-word'
  const control = startControl(wrong.href)
  const url = await urlOf(control)
  const said = 'refuses the user or the password of database.url'
  await until('it was refused twice', () => control.output().split(said).length > 2)
  const ready = await fetch(`${url}/readyz`)
  assert.equal(ready.status, 503)
  const text = await ready.text()
  assert.match(text, new RegExp(said))
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  assert.ok(![text, control.output(), control.errors()].join('').includes('planted-db-word'))
  assert.equal(control.ended(), false)
})

test('no unit of ours is left down for good by the start limit of systemd', () => {
  const units = globSync('deploy/*.service').map((file) => readFileSync(file, 'utf8'))
  const restarted = units.filter((unit) => /^Restart=/m.test(unit))
  assert.ok(restarted.length >= 2)
  assert.ok(restarted.every((unit) => /^StartLimitIntervalSec=0$/m.test(unit)))
})

test('a stop signal ends it while it waits, as an orderly stop', async (t) => {
  const control = startControl(away((await gateway(t)).port))
  await until('it waits', () => lineOf(control, WAITING))
  assert.equal(await control.end('SIGTERM'), 0)
})

test('an address that is none ends it at once and names the setting', async () => {
  const control = startControl('postgres//nowhere')
  await until('it ended', () => control.ended())
  assert.match(control.errors(), /database\.url/)
})

// What modules declare: the contract is served as a whole and by nobody twice, and no job is forgotten.
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Type } from 'typebox'
import { startControlPlane } from '../../bin/control-plane.ts'
import { assemble } from '../../bin/modules.ts'
import { areas } from '#src/contract/index.ts'
import { nodeAreas } from '#src/contract/node-areas.ts'
import { type Area, defineArea } from '#src/contract/route.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { serve } from '#src/modules/module.ts'

const shape = {
  method: 'GET',
  summary: 'Get toy',
  access: 'viewer',
  ok: { 200: Type.Object({}) },
  errors: [],
  example: {},
} as const
const toys = defineArea({
  name: 'toys',
  description: 'Toys.',
  routes: {
    toyGet: { ...shape, path: '/toys/one' },
    toyLocalGet: { ...shape, path: '/toys/here', runs_on: 'node' },
  },
})
const dolls = defineArea({ name: 'dolls', description: 'Dolls.', routes: { dollGet: { ...shape, path: '/dolls' } } })
const contract = [toys, dolls] as unknown as Area[]
const toy = serve(toys, { toyGet: () => ({}) })
const doll = serve(dolls, { dollGet: () => ({}) })
const on_node = { toyLocalGet: () => ({}) }

test('every route has the handler of its module, or that of nodes where the contract says that it runs there', () => {
  const [first, second] = assemble(contract, [{ areas: [toy, doll] }], on_node)
  assert.equal(first?.handlers['toyGet'], toy.handlers['toyGet'])
  assert.equal(first?.handlers['toyLocalGet'], on_node.toyLocalGet)
  assert.equal(second?.handlers['dollGet'], doll.handlers['dollGet'])
})

test('a start fails for an area that no module serves, that two serve, or that the contract does not list', () => {
  const fails = (modules: Parameters<typeof assemble>[1], listed: readonly Area[], message: RegExp): void => {
    assert.throws(() => assemble(listed, modules, on_node), message)
  }
  fails([{ areas: [toy] }], contract, /no module of bin\/modules.ts serves the area dolls/)
  fails([{ areas: [toy, doll] }, { areas: [doll] }], contract, /2 modules serve the area dolls/)
  fails([{ areas: [toy, doll] }], contract.slice(0, 1), /a module serves the area dolls, which src\/contract\/index.ts/)
})

test('a start fails for a route without a handler and for a handler of no route, and names all of them', () => {
  const misspelt = { area: toy.area, handlers: { toyGets: () => ({}), toyLocalGet: () => ({}) } }
  assert.throws(
    () => assemble(contract, [{ areas: [misspelt, doll] }], {}),
    (error: Error) =>
      /toyGet of toys has no handler/.test(error.message) &&
      /toyLocalGet of toys runs on nodes, which have no handler/.test(error.message) &&
      /handler toyGets of toys is of no route/.test(error.message) &&
      /handler toyLocalGet of toys is of no route/.test(error.message),
  )
})

test('the modules of the control plane serve the whole contract', async (t) => {
  const data_dir = mkdtempSync(join(tmpdir(), 'gp-modules-'))
  t.after(() => rmSync(data_dir, { recursive: true }))
  const config = checkConfig({
    listen: { host: '127.0.0.1', port: 0 },
    data_dir,
    database: { url: 'postgres://nobody@127.0.0.1:1/none' },
  })
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const enough = new Error('everything is mounted; only the database is away')
  const started = startControlPlane(config, { log, admin_token: 'first-start', signal: AbortSignal.abort(enough) })
  await assert.rejects(started, enough)
})

test('agents mount exactly what the contract says runs on nodes', () => {
  const mounted = new Set(nodeAreas.flatMap((area) => Object.keys(area.routes)))
  const local = areas.flatMap((area) =>
    Object.entries(area.routes).flatMap(([operation, route]) => (route.runs_on === 'node' ? [operation] : [])),
  )
  assert.deepEqual(
    local.filter((operation) => !mounted.has(operation)),
    [],
  )
  const hidden = nodeAreas.flatMap((area) =>
    Object.entries(area.routes).flatMap(([operation, route]) => (route.hidden === true ? [operation] : [])),
  )
  assert.equal(mounted.size, local.length + hidden.length)
})

test('every job is declared by its module, and called after the operation that admits it', () => {
  const jobs = globSync('src/modules/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^export const (\w+)[^=]* = defineJob</gm)].map(([, name = '']) => ({
      file,
      name,
    })),
  )
  assert.ok(jobs.length > 8, 'too few jobs were found')
  const undeclared = jobs.filter(({ file, name }) => {
    const module = file.split('/').slice(0, 3).join('/')
    return !readFileSync(join(module, 'index.ts'), 'utf8').includes(`bindJob(${name},`)
  })
  assert.deepEqual(undeclared, [])
  const operations = new Set(areas.flatMap((area) => Object.keys(area.routes)))
  const unknown = jobs.filter(({ name }) => name !== ANY_CALL && !operations.has(name.replace(/Job$/, '')))
  assert.deepEqual(unknown, [])
})

/** Whatever is one call of the platform. */
const ANY_CALL = 'computeCall'

test('every folder of src/modules is a module of the list', () => {
  const list = readFileSync('bin/modules.ts', 'utf8')
  const folders = new Set(globSync('src/modules/*/**/*.ts').map((file) => file.split('/')[2]))
  assert.deepEqual(
    [...folders].filter((name) => !list.includes(`'#src/modules/${name}/index.ts'`)),
    [],
  )
})

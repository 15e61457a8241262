// The arrows between the layers, as a table (AGENTS.md): who may import whom.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const MAY_IMPORT: Record<string, readonly string[]> = {
  contract: [],
  console: ['contract'],
  kernel: ['contract'],
  store: ['contract', 'kernel'],
  drivers: ['contract', 'kernel'],
  node: ['contract', 'kernel'],
  jobs: ['contract', 'kernel', 'store'],
  modules: ['contract', 'console', 'kernel', 'store', 'drivers', 'jobs'],
}
/** Files of modules that all areas share. */
const SHARED_MODULES = [
  'module',
  'bmc-access',
  'node-agents',
  'operation',
  'platform-rows',
  'own-address',
  'power-streams',
  'search-source',
  'address-ports',
  // What makes a machine for other areas, too: they start it as a job of their own job.
  'compute/provision.job',
  'bmc/mount.job',
  // Writers of address servers take turns, whichever area they belong to.
  'ddi/server-lock',
  // Members call each other, whichever area has something to ask.
  'ha/peer-calls',
  // Jobs of nodes look alike, whichever module has them.
  'lifecycle/job-view',
].map((name) => `src/modules/${name}.ts`)

interface Import {
  from: string
  to: string
}

function importsOf(pattern: string): Import[] {
  return globSync(pattern, { exclude: ['**/node_modules/**'] }).flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    const names = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')
    return names.flatMap((name) => {
      if (name.startsWith('#src/')) return [{ from: file, to: `src/${name.slice(5)}` }]
      return name.startsWith('.') ? [{ from: file, to: normalize(join(dirname(file), name)) }] : []
    })
  })
}

const layerOf = (path: string): string => path.split('/')[1] ?? ''
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.startsWith('test/')

test('a layer imports only the layers below it', () => {
  const broken = importsOf('src/**/*.ts').filter(({ from, to }) => {
    if (isTest(from)) return false
    if (!to.startsWith('src/')) return !to.endsWith('package.json')
    const [here, there] = [layerOf(from), layerOf(to)]
    return here !== there && !(MAY_IMPORT[here] ?? []).includes(there)
  })
  assert.deepEqual(broken, [])
})

test('modules do not import each other', () => {
  const broken = importsOf('src/modules/**/*.ts').filter(({ from, to }) => {
    if (isTest(from) || !to.startsWith('src/modules/')) return false
    if (SHARED_MODULES.includes(to) || SHARED_MODULES.includes(from)) return false
    return from.split('/')[2] !== to.split('/')[2]
  })
  assert.deepEqual(broken, [])
})

test('no file of src or bin imports in a circle', () => {
  assert.deepEqual(circles(importsOf('{src,bin}/**/*.ts')), [])
  const chain = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'c', to: 'd' },
  ]
  assert.deepEqual(circles(chain), [])
  assert.deepEqual(circles([...chain, { from: 'c', to: 'b' }]), ['b', 'c'])
})

/** Takes away files that import none of the rest, and files that none of the rest imports, until only circles are left. */
function circles(imports: readonly Import[]): string[] {
  const importing = new Set(imports.map(({ from }) => from))
  const imported = new Set(imports.map(({ to }) => to))
  const left = imports.filter(({ from, to }) => importing.has(to) && imported.has(from))
  return left.length === imports.length ? [...importing].sort() : circles(left)
}

test('the lab shares no code with the service: it imports nothing from src', () => {
  const broken = importsOf('lab/**/*.ts').filter(({ from, to }) => !isTest(from) && to.startsWith('src/'))
  assert.deepEqual(broken, [])
})

test('the command line imports the contract and nothing else of the service', () => {
  const broken = importsOf('cli/**/*.ts').filter(({ to }) => to.startsWith('src/') && layerOf(to) !== 'contract')
  assert.deepEqual(broken, [])
})

test('only the server knows the HTTP framework, and only drivers, agents and the proxy the HTTP client', () => {
  const knows = (name: string): string[] =>
    globSync('src/**/*.ts').filter(
      (file) => !isTest(file) && new RegExp(`from '${name}'`).test(readFileSync(file, 'utf8')),
    )
  assert.deepEqual(
    knows('fastify').filter((file) => !file.startsWith('src/kernel/http/')),
    [],
  )
  // The second wraps the clients of the proxy and of drivers, and calls nobody.
  const own = ['src/kernel/http/proxy.ts', 'src/kernel/media-memory.ts']
  const allowed = (file: string): boolean =>
    own.includes(file) || file.startsWith('src/drivers/') || file.startsWith('src/kernel/agent')
  assert.deepEqual(
    knows('undici').filter((file) => !allowed(file)),
    [],
  )
})

// The documents say what is true: what they name exists, and the examples of the guides compile and run.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { loadAgentConfig } from '../../bin/agent-config.ts'
import { routeTable } from '../../cli/names.ts'
import { buildCommands } from '../../cli/program.ts'
import { areas } from '#src/contract/index.ts'
import { ConfigSchema, leafPaths, loadConfig } from '#src/kernel/config.ts'
import { SERVER_VARIABLE } from '../support/test-database.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCUMENTS = [
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  ...globSync('docs/{guides,decisions}/*.md', { cwd: ROOT }),
]

interface Block {
  document: string
  /** What stands after the three backticks: `ts src/x.ts`, `ts edit:bin/modules.ts`, `sh`. */
  info: string
  text: string
}

const textOf = (document: string): string => readFileSync(join(ROOT, document), 'utf8')
/** Fenced code, also inside a list. */
const FENCED = /^( *)```(.*)\n([^]*?)^\1```$/gm
const blocks: Block[] = DOCUMENTS.flatMap((document) =>
  [...textOf(document).matchAll(FENCED)].map(([, indent = '', info = '', text = '']) => ({
    document,
    info,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  })),
)
/** New files that a guide tells its reader to write. */
const examples = blocks.flatMap(({ info, text, document }) => {
  const path = /^ts ([\w./-]+\.ts)$/.exec(info)?.[1]
  return path === undefined ? [] : [{ document, path, text }]
})
const edits = blocks.flatMap(({ info, text }) => {
  const path = /^ts edit:([\w./-]+)$/.exec(info)?.[1]
  return path === undefined ? [] : [{ path, text }]
})

function quoted(document: string): string[] {
  const prose = textOf(document).replace(FENCED, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')
}

/** Everything set as code: words in backticks and whole blocks. */
function codeOf(document: string): string[] {
  return [...quoted(document), ...blocks.filter((block) => block.document === document).map(({ text }) => text)]
}

/** `document: what is wrong`, for a list that must be empty. */
function wrong(find: (document: string) => string[]): string[] {
  return DOCUMENTS.flatMap((document) => find(document).map((what) => `${document}: ${what}`))
}

test('every document that the repository promises is there', () => {
  const promised = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE']
  assert.deepEqual(
    promised.filter((name) => !existsSync(join(ROOT, name))),
    [],
  )
})

test('AGENTS.md stays under 150 lines', () => {
  assert.ok(textOf('AGENTS.md').split('\n').length < 150)
})

test('decisions are numbered without a gap', () => {
  const names = globSync('*.md', { cwd: join(ROOT, 'docs/decisions') }).sort()
  assert.deepEqual(
    names.map((name) => Number(name.slice(0, 4))),
    names.map((_name, index) => index + 1),
  )
  for (const name of names) assert.match(name, /^\d{4}-[a-z0-9-]+\.md$/)
})

const FOLDERS = /^(\.ci|bench|bin|cli|deploy|docs|lab|migrations|scripts|src|test|tools)\//

test('every file and folder that a document names exists', () => {
  const made = new Set(examples.map(({ path }) => path))
  // Files that belong to a site and are never committed.
  const ignored = new Set(textOf('.gitignore').split('\n'))
  const missing = wrong((document) => {
    const links = [...textOf(document).matchAll(/\]\(([^)#:]+)\)/g)].map((match) =>
      join(dirname(document), match[1] ?? ''),
    )
    const paths = quoted(document).filter((word) => FOLDERS.test(word) && !/[ *<>…]|NNNN|NAME/.test(word))
    const known = (path: string): boolean => made.has(path) || ignored.has(path) || existsSync(join(ROOT, path))
    return [...links, ...paths].filter((path) => !known(path))
  })
  assert.deepEqual(missing, [])
})

test('every test that a document names by its title exists', () => {
  const missing = wrong((document) =>
    [...textOf(document).matchAll(/`(test\/[\w/.-]+\.test\.ts)`: “([^”]+)”/g)]
      .filter(([, path = '', title = '']) => !readFileSync(join(ROOT, path), 'utf8').includes(title))
      .map(([, path, title]) => `${path} has no “${title}”`),
  )
  assert.deepEqual(missing, [])
})

test('every npm script that a document names exists', () => {
  const known = new Set(Object.keys(packageJson.scripts))
  const unknown = wrong((document) =>
    codeOf(document)
      .flatMap((code) => [...code.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map((match) => match[1] ?? ''))
      .filter((name) => !known.has(name)),
  )
  assert.deepEqual(unknown, [])
})

test('every route that a document names is in the contract', () => {
  const routes = areas.flatMap((area) => Object.values(area.routes).map((route) => `${route.method} ${route.path}`))
  const made = examples.flatMap(({ text }) => [...text.matchAll(/path: '([^']+)'/g)].map((match) => match[1]))
  const unknown = wrong((document) =>
    quoted(document)
      .filter((word) => /^(GET|POST|PUT|DELETE) \//.test(word))
      .map((word) => word.replace(/\?.*$/, ''))
      .filter((word) => !routes.includes(word) && !made.includes(word.split(' ')[1])),
  )
  assert.deepEqual(unknown, [])
})

test('every setting that a document names is in the configuration', () => {
  const settings = leafPaths(ConfigSchema, []).map((path) => path.join('.'))
  const groups = new Set(settings.map((name) => name.split('.')[0]))
  const known = (word: string): boolean => settings.some((name) => name === word || name.startsWith(`${word}.`))
  const unknown = wrong((document) =>
    quoted(document).filter(
      (word) => /^[a-z]+(\.[a-z_]+)+$/.test(word) && groups.has(word.split('.')[0]) && !known(word),
    ),
  )
  assert.deepEqual(unknown, [])
})

test('every configuration file that a document shows is accepted', () => {
  const folder = tempFolder('gp-docs-')
  const loaders: Record<string, (file: string) => unknown> = {
    'control.yaml': (file) => loadConfig(file, {}),
    'agent.yaml': (file) => loadAgentConfig(file, {}),
  }
  const shown = blocks.filter(({ info }) => info.startsWith('yaml'))
  for (const { text, document, info } of shown) {
    const load = loaders[info.replace('yaml ', '')]
    assert.ok(load !== undefined, `${document}: a block of yaml says which file it is`)
    const file = join(folder, 'shown.yaml')
    writeFileSync(file, text)
    assert.doesNotThrow(() => load(file), document)
  }
  assert.ok(shown.length > 2)
})

test('every metric that a document names is measured', () => {
  const sources = globSync(['src/kernel/metrics.ts', 'bin/*.ts'], { cwd: ROOT }).map(textOf).join('\n')
  const unknown = wrong((document) =>
    [...textOf(document).matchAll(/\bgroundplane_[a-z_]+[a-z]\b/g)]
      .map(([name]) => name.replace(/_(count|sum|bucket)$/, ''))
      .filter((name) => !sources.includes(`'${name}'`) && !['groundplane_stream', 'groundplane_live'].includes(name)),
  )
  assert.deepEqual(unknown, [])
})

test('every command of the command line that a document shows exists, with its options', () => {
  const flags = flagsByCommand()
  const unknown = wrong((document) =>
    codeOf(document).flatMap((code) =>
      [
        ...code
          .replaceAll('\\\n', ' ')
          .matchAll(/^(?:\.\/|\/\S*\/)?groundplane ([a-z][\w-]*)(?: ([a-z][\w-]*))?(.*)$/gm),
      ].flatMap(([whole, group = '', command = '', rest = '']) => {
        if (group === 'control' && command !== '') return existsSync(join(ROOT, `bin/${command}.ts`)) ? [] : [whole]
        if (PROGRAMS.includes(group) || MADE_HERE.includes(`${group} ${command}`)) return []
        const known = flags.get(`${group} ${command}`.trim())
        // What stands after a bar is another program's.
        const used = [...(rest.split(' | ')[0] ?? '').matchAll(/ (--[\w-]+)/g)].map((match) => match[1] ?? '')
        return known === undefined || used.some((flag) => !known.has(flag)) ? [whole] : []
      }),
    ),
  )
  assert.deepEqual(unknown, [])
})

/** Not commands of the API: they have options of their own, or start another program. */
const PROGRAMS = ['agent', 'control', 'lab', 'login', 'status', 'context', 'completion', 'doctor']
/** Commands that an example of a guide makes. */
const MADE_HERE = ['vm count-get']

function flagsByCommand(): Map<string, ReadonlySet<string>> {
  const terminal = {
    args: [], env: {}, stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(),
    interrupted: new AbortController().signal,
  } // biome-ignore format: a record
  const root = buildCommands({ terminal, version: '0', areas, routes: routeTable(areas) })
  const flags = new Map<string, ReadonlySet<string>>()
  for (const group of root.commands) {
    for (const leaf of group.commands) {
      for (const noun of [group.name(), ...group.aliases()])
        for (const verb of [leaf.name(), ...leaf.aliases()])
          flags.set(`${noun} ${verb}`, new Set(leaf.options.map((option) => option.long ?? '')))
    }
  }
  return flags
}

test('what the README says is not there is not there', () => {
  const [, section = ''] = textOf('README.md').split(/^## Not there yet$/m)
  const prefixes = [...section.matchAll(/`(\/[\w/{}-]+)`/g)].map((match) => match[1] ?? '')
  assert.notEqual(section, '')
  const paths = areas.flatMap((area) => Object.values(area.routes).map((route) => route.path))
  assert.deepEqual(
    prefixes.filter((prefix) => paths.some((path) => path === prefix || path.startsWith(`${prefix}/`))),
    [],
  )
})

// The examples of the guides, put into a copy of the tree as a reader would.
const run = promisify(execFile)
let copy: string

before(() => {
  mkdirSync(join(ROOT, '.groundplane'), { recursive: true })
  copy = mkdtempSync(join(ROOT, '.groundplane/guides-'))
  for (const name of ['bin', 'cli', 'lab', 'migrations', 'src', 'test/support', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  for (const { path, text } of examples) {
    assert.ok(!existsSync(join(copy, path)), `${path} is an example, but stands in the tree`)
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    writeFileSync(join(copy, path), text)
  }
  for (const edit of edits) applyEdit(edit)
})
after(() => {
  if (copy !== undefined) rmSync(copy, { recursive: true, force: true })
})

/** Imports go to the imports, what they name into the list that the file is about. */
function applyEdit({ path, text }: { path: string; text: string }): void {
  const file = join(copy, path)
  const lines = text.split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  const name = /import \{ (\w+) \}/.exec(text)?.[1] ?? ''
  const source = readFileSync(file, 'utf8')
  const list = /^(?:export )?const .* = \[$/m
  assert.match(source, list)
  writeFileSync(file, `${imports.join('\n')}\n${source.replace(list, (found) => `${found}\n${name},`)}`)
}

test('the code of the guides is free of type errors where the guides put it', async () => {
  const files = [...examples.map(({ path }) => path), ...edits.map(({ path }) => path)]
  const config = { extends: './tsconfig.json', include: [], files }
  writeFileSync(join(copy, 'tsconfig.guides.json'), JSON.stringify(config))
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const { stdout } = await run(tsc, ['--noEmit', '--pretty', 'false', '-p', 'tsconfig.guides.json'], {
    cwd: copy,
    encoding: 'utf8',
  }).catch((error: { stdout: string }) => error)
  assert.deepEqual(
    stdout.split('\n').filter((line) => files.some((file) => line.startsWith(`${file}(`))),
    [],
  )
  assert.doesNotMatch(stdout, /^error /m)
})

test('the tests of the guides pass', async () => {
  const tests = examples.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'))
  assert.ok(tests.length > 0)
  const environment = { ...process.env }
  // One database server for all of them, unless this run has one already.
  const shared = environment[SERVER_VARIABLE] === undefined ? ['--test-global-setup=test/support/global-setup.ts'] : []
  // Set for test files by the runner; a runner of its own must not believe that it is one.
  delete environment.NODE_TEST_CONTEXT
  const { stdout } = await run(
    process.execPath,
    ['--test', '--test-concurrency=1', '--test-reporter=tap', ...shared, ...tests],
    {
      cwd: copy,
      env: environment,
      encoding: 'utf8',
    },
  ).catch((error: { stdout: string; stderr: string }) => assert.fail(error.stdout + error.stderr))
  assert.match(stdout, /^# fail 0$/m)
  assert.ok(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]) >= tests.length)
})

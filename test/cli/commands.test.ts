// The commands are the contract: every route has one, none has two, and each can be given all it needs.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { Command } from 'commander'
import { commandName, kebabName } from '../../cli/command-names.ts'
import { fieldsOf, flagOf } from '../../cli/fields.ts'
import { NAME_ROWS } from '../../cli/name-rows.ts'
import { routeTable } from '../../cli/names.ts'
import { buildCommands } from '../../cli/program.ts'
import type { Area } from '#src/contract/route.ts'
import { shapeOf } from '../../cli/schema-shape.ts'
import { TOPICS } from '../../cli/topics.ts'
import { runCli } from './cli-process.ts'
import { runHere } from './in-process.ts'

const CONTRACT = join(import.meta.dirname, '../../src/contract')
const BY_HAND = [
  'login', 'context', 'status', 'doctor', 'search', 'completion', 'complete-names', 'control', 'agent', 'lab', 'help',
] // biome-ignore format: a list of words

/** Every area that any file of the contract exports, whether the index lists it already or not. */
async function allAreas(): Promise<Area[]> {
  const files = (await readdir(CONTRACT, { recursive: true })).filter((name) => /(?<!\.test)\.ts$/.test(name))
  const modules = await Promise.all(
    files.map((name) => import(join(CONTRACT, name)) as Promise<Record<string, unknown>>),
  )
  const areas = modules.flatMap((module) => Object.values(module)).filter(isArea)
  // An area may be put together from parts that are areas themselves.
  const by_routes = new Map(areas.map((area) => [Object.keys(area.routes).join(), area]))
  return [...by_routes.values()]
}

function isArea(value: unknown): value is Area {
  return typeof value === 'object' && value !== null && 'routes' in value && 'upstream_status' in value
}

function commandsOf(areas: Area[]): Command {
  const terminal = {
    args: [], env: {}, stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(),
    interrupted: new AbortController().signal,
  } // biome-ignore format: a record
  return buildCommands({ terminal, version: '0', areas, routes: routeTable(areas) })
}

test('every route is reached by exactly one command, and no command hides one of the program itself', async () => {
  const areas = await allAreas()
  const operations = areas.flatMap((area) =>
    Object.keys(area.routes).map((operation) => ({ operation, ...commandName(operation, area) })),
  )
  assert.ok(operations.length > 60, `only ${operations.length} operations were found`)
  const by_words = Map.groupBy(operations, ({ group, command }) => `${group} ${command}`)
  for (const [words, same] of by_words) {
    assert.equal(same.length, 1, `${words} is ${same.map(({ operation }) => operation).join(' and ')}`)
    assert.match(words, /^[a-z][a-z0-9-]* [a-z][a-z0-9-]*$/)
  }
  assert.deepEqual(
    operations.filter(({ group }) => BY_HAND.includes(group)),
    [],
  )
  const root = commandsOf(areas)
  const reached = root.commands.flatMap((group) => group.commands.map((leaf) => `${group.name()} ${leaf.name()}`))
  assert.deepEqual(reached.filter((words) => by_words.has(words)).sort(), [...by_words.keys()].sort())
})

test('every field of every route has its argument or option, and two of one command never share a word', async () => {
  for (const area of await allAreas()) {
    for (const [operation, route] of Object.entries(area.routes)) {
      const fields = fieldsOf(operation, route, area)
      const words = fields.map((field) => field.word)
      assert.equal(new Set(words).size, words.length, `${operation}: ${words.join(' ')}`)
      const covered = new Set(
        fields.flatMap((field) => [
          ...field.places.map((place) => `${place} ${kebabName(field.name)}`),
          ...field.also.map((name) => `body ${kebabName(name)}`),
        ]),
      )
      const params = [...route.path.matchAll(/\{(\w+)/g)].map((match) => `params ${kebabName(match[1] ?? '')}`)
      const body = shapeOf(route.body)
      const members = body.kind === 'object' ? [...body.members.keys()].map((name) => `body ${kebabName(name)}`) : []
      const query = Object.keys(route.query?.properties ?? {}).map((name) => `query ${kebabName(name)}`)
      const missing = [...params, ...members, ...query].filter(
        (place) => !covered.has(place) && place !== 'query ticket',
      )
      assert.deepEqual(missing, [], `${operation} cannot be given ${missing.join(', ')}`)
    }
  }
})

test('the id of the thing that a command is about is its argument', async () => {
  const areas = await allAreas()
  const usage = new Map(
    areas.flatMap((area) =>
      Object.entries(area.routes).map(([operation, route]) => [
        operation,
        fieldsOf(operation, route, area)
          .filter((field) => field.positional)
          .map(flagOf)
          .join(' '),
      ]),
    ),
  )
  for (const [operation, words] of [
    ['vmStart', '<virtual-machine>'], ['vmGetByName', '<name>'], ['jobGet', '<id>'], ['vmList', ''],
    ['mtuNodeApply', '<node>'], ['nodeSummary', '[node]'], ['nodeGet', '<node>'], ['nodeSetupStart', '<node>'], ['eventStream', ''],
  ]) assert.equal(usage.get(operation ?? ''), words, operation) // biome-ignore format: a table
})

test('operations that the program uses by name exist, and no list of named things was overlooked', async () => {
  const operations = [...routeTable(await allAreas()).keys()]
  for (const name of ['jobGet', 'eventStream', 'callerGet', 'versionGet']) assert.ok(operations.includes(name), name)
  for (const row of NAME_ROWS) {
    for (const name of [row.list, row.lookup, row.read?.operation]) {
      if (name === undefined || operations.includes(name)) continue
      // The area is not there yet. Once it is, its list must be the one that the table names.
      const noun = row.list.replace(/List$/, '')
      const meant = operations.filter((operation) => new RegExp(`^${noun}[A-Z]`).test(operation))
      assert.deepEqual(meant, [], `names.ts names ${name}, which does not exist`)
    }
  }
})

test('camel case, dashes and abbreviations become words', () => {
  const names = [
    'vmNicIpAdd',
    'mtuL2Probe',
    'bmcIP',
    'X-Target-Node',
    'virtual_machine_id',
    'interfaceName',
    'ipv6_address',
  ]
  assert.deepEqual(names.map(kebabName), [
    'vm-nic-ip-add', 'mtu-l2-probe', 'bmc-ip', 'x-target-node', 'virtual-machine-id', 'interface-name', 'ipv6-address',
  ]) // biome-ignore format: a list
  assert.deepEqual(commandName('eventStream', { name: 'events' }), { group: 'events', command: 'follow' })
})

test('what people look for under one word is in one group: vm, gpu, ip, forward, network, tenant, node', async () => {
  const words = new Map(
    (await allAreas()).flatMap((area) =>
      Object.keys(area.routes).map((operation) => {
        const { group, command } = commandName(operation, area)
        return [operation, `${group} ${command}`]
      }),
    ),
  )
  for (const [operation, expected] of [
    ['vmStart', 'vm start'], ['vmDiskAttach', 'vm disk-attach'], ['vmNicIpAdd', 'vm nic-ip-add'],
    ['vmSnapshotCreate', 'vm snapshot-create'], ['vmSettingsGet', 'vm settings-get'],
    ['vmMetricsAggregate', 'vm metrics-aggregate'], ['gpuCardList', 'gpu card-list'], ['gpuDeviceList', 'gpu device-list'],
    ['gpuDeviceConvert', 'gpu device-convert'], ['vgpuProfileList', 'gpu profile-list'], ['publicIpList', 'ip list'],
    ['publicIpAssociate', 'ip associate'], ['publicIpDnsSet', 'ip dns-set'], ['portForwardingCreate', 'forward create'],
    ['guestNetworkRestart', 'network restart'], ['networkAlertsList', 'network alerts-list'], ['systemVmList', 'system-vm list'],
    ['tenantCreate', 'tenant create'], ['serviceOfferingList', 'service-offering list'], ['nodeSummary', 'node summary'],
    ['hostDiskList', 'node disks'], ['nodeNicsList', 'node nics'], ['decommissionStart', 'node decommission'],
    ['rollbackStatus', 'node rollback-status'], ['frrDashboardRead', 'node routing'],
  ]) assert.equal(words.get(operation ?? ''), expected, operation) // biome-ignore format: a table
  const scattered = [...words].filter(([operation, text]) => /^vm[A-Z]/.test(operation) && !text.startsWith('vm '))
  assert.deepEqual(scattered, [])
})

test('the help names every noun once, by topic', async () => {
  const areas = await allAreas()
  const groups = new Set(
    areas.flatMap((area) => Object.keys(area.routes).map((operation) => commandName(operation, area).group)),
  )
  const words = TOPICS.flatMap(([, nouns]) => nouns)
  assert.equal(new Set(words).size, words.length)
  assert.deepEqual(
    words.filter((word) => !groups.has(word)),
    [],
  )
})

test('list, show, create and delete are understood by every noun that has such a verb', async () => {
  const root = commandsOf(await allAreas())
  const meaning = (group: string, verb: string): string | undefined =>
    root.commands
      .find((one) => one.name() === group)
      ?.commands.find((one) => [one.name(), ...one.aliases()].includes(verb))
      ?.name()
  for (const [group, verb, command] of [
    ['vm', 'ls', 'list'], ['vm', 'show', 'get'], ['vm', 'create', 'provision'], ['vm', 'delete', 'destroy'],
    ['ip', 'create', 'acquire'], ['ip', 'delete', 'release'], ['token', 'delete', 'revoke'], ['node', 'create', 'register'],
    ['node', 'delete', 'delete'], ['tenant', 'create', 'create'], ['gpu', 'ls', 'device-list'], ['context', 'delete', 'remove'],
  ]) assert.equal(meaning(group ?? '', verb ?? ''), command, `${group} ${verb}`) // biome-ignore format: a table
})

test('second names lead to the same commands and hide none', async () => {
  const root = commandsOf(await allAreas())
  for (const commands of [root.commands, ...root.commands.map((group) => group.commands)]) {
    const names = commands.flatMap((command) => [command.name(), ...command.aliases()])
    assert.equal(new Set(names).size, names.length, names.join(' '))
  }
  const summaries = (group: string): string[] =>
    root.commands
      .filter((command) => [command.name(), ...command.aliases()].includes(group))
      .flatMap((command) => command.commands.map((leaf) => leaf.summary()))
  assert.deepEqual(summaries('public-ip'), summaries('ip'))
  assert.ok(summaries('ip').length > 5)
  const service = { url: 'http://127.0.0.1:9', token: 'none' }
  const [long, short] = await Promise.all(
    ['device-convert', 'convert'].map((word) => runHere(service, ['gpu', word, '--help'])),
  )
  assert.equal(short?.code, 0)
  assert.equal(short?.stdout, long?.stdout)
})

test('an argument may be given by its option as well, but not both ways at once', async () => {
  const service = { url: 'http://127.0.0.1:9', token: 'none' }
  for (const words of [['--virtual-machine-id', 'a'], ['--vm', 'a'], ['a']]) {
    assert.equal((await runHere(service, ['vm', 'stop', ...words])).code, 7, words.join(' '))
  }
  for (const words of [['a', '--vm', 'b'], ['--vm', 'a', '--vm-id', 'b'], []]) {
    assert.equal((await runHere(service, ['vm', 'stop', ...words])).code, 2, words.join(' '))
  }
})

test('the program itself starts, helps and knows its version without a service', async () => {
  const program = join(import.meta.dirname, '../../bin/cli.ts')
  const help = await runCli(['--help'], { program })
  assert.equal(help.code, 0, help.stderr)
  assert.match(help.stdout, /Exit codes:[^]*7 the service cannot be reached/)
  assert.ok(help.stdout.split('\n').length < 45, 'the help fits on a screen')
  assert.match((await runCli(['--version'], { program })).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.equal((await runCli(['job', 'get', '--help'], { program })).code, 0)
  for (const name of ['control', 'agent', 'lab']) {
    const usage = new RegExp(`^Usage: groundplane ${name} `, 'm')
    const asked = await runCli([name, '--help'], { program })
    assert.deepEqual([asked.code, asked.stderr], [0, ''], name)
    assert.match(asked.stdout, usage)
    const other = await runCli([name, '--no-such-option'], { program })
    assert.equal(other.code, 2, name)
    assert.match(other.stderr, /^Unknown option '--no-such-option'\n/)
    assert.match(other.stderr, usage)
  }
  const port = await runCli(['lab', '--port', 'x'], { program })
  assert.deepEqual([port.code, port.stderr], [1, '--port must be a whole number between 0 and 65535, not x\n'])
})

// Network configuration on a real kernel: applied and confirmed, left unconfirmed, and with the agent killed in between.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { namespacesRefused } from './mtu-topology.ts'
import type { NetworkOrder, NetworkProgram } from './network-node.ts'

const INTERFACES =
  '# by hand\nauto lo eth0\niface lo inet loopback\n\niface eth0 inet static\n    address 10.60.0.7/24\n    gateway 10.60.0.254\n'
const DOCUMENT: NetworkDocument = {
  devices: [
    { name: 'eth0', kind: 'physical', mtu: 9000 },
    { name: 'eth1', kind: 'physical', mtu: 9000 },
    {
      name: 'cloudbr0',
      kind: 'bridge',
      members: ['eth0'],
      mtu: 9000,
      addresses: ['10.60.0.11/24'],
      gateway: '10.60.0.254',
    },
    { name: 'cloudbr1', kind: 'bridge', members: ['eth1'], mtu: 8900, addresses: ['10.61.0.11/24', 'fd00:61::11/64'] },
  ],
}
suite('network configuration of a node', { skip: namespacesRefused() ?? false }, () => {
  const tag = randomBytes(3).toString('hex')
  const [node, peer] = [`gpn-${tag}a`, `gpn-${tag}b`]
  const ip = (...args: string[]): string => execFileSync('ip', ['-n', node, ...args], { encoding: 'utf8' })
  before(() => {
    for (const name of [node, peer]) execFileSync('ip', ['netns', 'add', name])
  })
  after(() => {
    for (const name of [node, peer]) execFileSync('ip', ['netns', 'del', name])
  })

  /** A node as installed: an address on its first card, and the default route there. */
  function fresh() {
    const root = tempFolder('gp-network-')
    const state_dir = tempFolder('gp-network-state-')
    for (const { ifname } of JSON.parse(ip('-j', 'link')) as { ifname: string }[])
      if (ifname !== 'lo') execFileSync('ip', ['-n', node, 'link', 'del', ifname], { stdio: 'ignore' })
    for (const card of ['eth0', 'eth1']) {
      ip('link', 'add', card, 'type', 'veth', 'peer', 'name', `p${card}`, 'netns', peer)
      execFileSync('ip', ['-n', peer, 'link', 'set', `p${card}`, 'mtu', '9000', 'up'])
    }
    ip('link', 'set', 'eth0', 'up')
    ip('addr', 'add', '10.60.0.7/24', 'dev', 'eth0')
    ip('route', 'add', 'default', 'via', '10.60.0.254', 'dev', 'eth0', 'metric', '100')
    const interfaces = join(root, 'etc/network/interfaces')
    mkdirSync(join(root, 'etc/network'), { recursive: true })
    writeFileSync(interfaces, INTERFACES)
    const run = join(state_dir, 'mtu/network-configuration.run')
    return {
      orders: (...orders: NetworkOrder[]) => inNamespace(node, { state_dir, root, orders }),
      crash: (document: NetworkDocument, crash: NetworkProgram['crash'] & object) =>
        inNamespace(node, { state_dir, root, orders: [{ order: 'apply', document }], crash }),
      live,
      interfaces: () => readFileSync(interfaces, 'utf8'),
      /** The window is over: the watchdog reads its end from here. */
      endWindow: () => writeFileSync(join(run, 'deadline'), '0\n'),
      isReverted: () => readdirSync(run).includes('reverted'),
      isOpen: () => readdirSync(join(state_dir, 'mtu')).includes('network-configuration.run'),
      files: () => readdirSync(join(root, 'etc/network')),
    }
  }

  function live() {
    const links: {
      ifname: string
      mtu: number
      master?: string
      flags: string[]
      addr_info: Record<string, unknown>[]
    }[] = JSON.parse(ip('-j', '-d', 'addr'))
    const routes: { dst: string; gateway?: string; dev: string; metric?: number }[] = JSON.parse(ip('-j', 'route'))
    return {
      links: links
        .filter(({ ifname }) => ifname !== 'lo')
        .map(({ ifname, mtu, master = '', flags, addr_info }) => {
          const addresses = addr_info.filter(({ scope }) => scope === 'global')
          const texts = addresses.map(({ local, prefixlen }) => `${String(local)}/${String(prefixlen)}`)
          return [ifname, mtu, master, flags.includes('UP'), ...texts.toSorted()].join(' ')
        })
        .toSorted(),
      defaults: routes
        .filter(({ dst }) => dst === 'default')
        .map(({ gateway, dev, metric }) => `${gateway} ${dev} ${metric}`),
    }
  }
  const WANTED = {
    links: [
      'cloudbr0 9000  true 10.60.0.11/24',
      'cloudbr1 8900  true 10.61.0.11/24 fd00:61::11/64',
      'eth0 9000 cloudbr0 true',
      'eth1 9000 cloudbr1 true',
    ],
    defaults: ['10.60.0.254 cloudbr0 undefined'],
  }

  test('it is applied, stays once it is confirmed, and its removal leads back to what was there before', async () => {
    const machine = fresh()
    const before_it = machine.live()
    const [applied, pending] = await machine.orders({ order: 'apply', document: DOCUMENT }, { order: 'state' })
    assert.match(String(applied?.value), /reverts by itself in 60 s/, applied?.error)
    assert.deepEqual([pending?.value.differences, typeof pending?.value.pending.left_ms], [[], 'number'])
    assert.deepEqual(machine.live(), WANTED)
    assert.match(
      machine.interfaces(),
      /^# by hand\nauto lo\niface lo inet loopback\n\n# Begin .*iface cloudbr0 inet static/s,
    )
    const confirm = { order: 'confirm', document: DOCUMENT } as const
    const [confirmed, again, twice] = await machine.orders(confirm, { order: 'apply', document: DOCUMENT }, confirm)
    assert.deepEqual([confirmed, again?.value], [{}, 'The network is so already.'])
    assert.equal(twice?.code, 'DESIRED_NOTHING_PENDING')
    assert.equal(machine.isOpen(), false)
    assert.deepEqual(machine.live(), WANTED)

    const smaller = { devices: DOCUMENT.devices.slice(0, 3) }
    await machine.orders({ order: 'apply', document: smaller }, { order: 'confirm', document: smaller })
    assert.deepEqual(machine.live().links, [
      'cloudbr0 9000  true 10.60.0.11/24',
      'eth0 9000 cloudbr0 true',
      'eth1 9000  true',
    ])
    const [removed, , state] = await machine.orders({ order: 'remove' }, { order: 'confirm' }, { order: 'state' })
    assert.match(String(removed?.value), /reverts by itself/, removed?.error)
    assert.equal(state?.value.hash, null)
    assert.deepEqual(machine.live(), before_it)
    assert.equal(machine.interfaces(), INTERFACES)
  })

  test('what nobody confirms is rolled back when its window ends: devices, addresses, routes and files', async () => {
    const machine = fresh()
    const before_it = machine.live()
    await machine.orders({ order: 'apply', document: DOCUMENT })
    machine.endWindow()
    await until('the old network is back', () => machine.interfaces() === INTERFACES && same(machine.live(), before_it))
    await until('the watchdog has ended', () => machine.isReverted())
    const confirm = { order: 'confirm', document: DOCUMENT } as const
    const [state, late, , confirmed] = await machine.orders(
      { order: 'state' },
      confirm,
      { order: 'apply', document: DOCUMENT },
      confirm,
    )
    assert.deepEqual([state?.value.hash, state?.value.pending], [null, null])
    assert.deepEqual([late?.code, confirmed], ['DESIRED_NOTHING_PENDING', {}])

    await machine.orders({ order: 'remove' })
    machine.endWindow()
    await until('the removal is rolled back', () => same(machine.live(), WANTED))
    await until('the watchdog has ended', () => machine.isReverted())
    const [settled, after_it] = await machine.orders({ order: 'reconcile' }, { order: 'state' })
    assert.deepEqual([settled?.value.length, after_it?.value.differences], [1, []])
  })

  for (const { step, nth } of [
    ...['file-written', 'persisted', 'live'].map((name) => ({ step: name, nth: 1 })),
    ...[3, 12].map((count) => ({ step: 'device-set', nth: count })),
  ]) {
    test(`an agent that is killed after ${step} ${nth} leaves the old network behind`, async () => {
      const machine = fresh()
      const before_it = machine.live()
      await assert.rejects(machine.crash(DOCUMENT, { step, nth }), { killed_itself: true })
      machine.endWindow()
      await until(
        'the old network is back',
        () => machine.interfaces() === INTERFACES && same(machine.live(), before_it),
      )
      await until('the watchdog has ended', () => machine.isReverted())
      const [, state] = await machine.orders({ order: 'reconcile' }, { order: 'state' })
      assert.equal(state?.value.hash, null)
      assert.deepEqual([machine.isOpen(), machine.files()], [false, ['interfaces']])
    })
  }

  test('what cannot be, or belongs to others, is refused before anything is touched', async () => {
    const machine = fresh()
    ip('link', 'add', 'br9', 'type', 'bridge')
    ip('link', 'set', 'eth1', 'master', 'br9')
    const before_it = machine.live()
    const documents: NetworkDocument['devices'][] = [
      [{ name: 'eth9', kind: 'physical' }],
      [{ name: 'eth0', kind: 'bridge' }],
      [{ name: 'br0', kind: 'bridge', members: ['eth1'] }],
    ]
    const answers = await machine.orders(
      ...documents.map((devices) => ({ order: 'apply' as const, document: { devices } })),
    )
    assert.deepEqual(
      answers.map(({ code, error }) => `${code} ${error}`),
      [
        'INVALID_REQUEST document.devices.0: the node has no device eth9',
        'DESIRED_CONFLICT The node has a device eth0 that is something else.',
        'DESIRED_CONFLICT eth1 belongs to br9.',
      ],
    )
    assert.deepEqual(machine.live(), before_it)
    assert.equal(machine.isOpen(), false)
    assert.equal(machine.interfaces(), INTERFACES)
  })
})

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

interface Answer {
  value?: any // oxlint-disable-line typescript/no-explicit-any -- answers of different orders, read by the assertions
  error?: string
  code?: string
}

function inNamespace(namespace: string, program: NetworkProgram): Promise<Answer[]> {
  const file = join(import.meta.dirname, 'network-node.ts')
  const args = ['netns', 'exec', namespace, process.execPath, file, JSON.stringify(program)]
  return new Promise((resolve, reject) => {
    execFile('ip', args, { timeout: 120_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout))
      // `ip netns exec` becomes the program, so its end is the program's end.
      else reject(Object.assign(new Error(stderr), { killed_itself: error.signal === 'SIGKILL' && !error.killed }))
    })
  })
}

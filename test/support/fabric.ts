// Three real routers (FRR) in network namespaces, a triangle of links, an EVPN fabric over it, one host behind each.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { tempFolder } from './temp-folder.ts'

const run = promisify(execFile)
const PREFIX = 'gpf'
const DAEMONS = '/usr/lib/frr'
const L2_VNIS = [100, 200]
const L3_VNI = 4001
const NUMBERS = [1, 2, 3] as const
type Number3 = (typeof NUMBERS)[number]

export interface Router {
  number: Number3
  namespace: string
  vty_dir: string
  /** The machine as this router sees it. */
  host: Host
  pid(daemon: string): Promise<number>
}

export interface Fabric {
  routers: Router[]
  /** One side of the link between two routers; the other side sees its carrier go. */
  link(from: number, to: number, state: 'up' | 'down'): Promise<void>
  close(): Promise<void>
}

/** Why the fabric cannot be built here; false when it can. */
export function fabricObstacle(): string | false {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces'
  if (!existsSync(`${DAEMONS}/bgpd`)) return 'the package frr is not installed'
  return false
}

export async function startFabric(): Promise<Fabric> {
  await removeLeftovers()
  const dir = tempFolder(`${PREFIX}-`)
  await run('chmod', ['755', dir])
  const tag = `${PREFIX}${dir.slice(-6).toLowerCase()}`
  await writeFile(join(tmpdir(), `${tag}.owner`), String(process.pid))
  const fabric = new RunningFabric(dir, tag)
  try {
    await fabric.build()
    return fabric
  } catch (error) {
    await fabric.close()
    throw error
  }
}

class RunningFabric implements Fabric {
  readonly routers: Router[]
  readonly #dir: string
  readonly #tag: string

  constructor(dir: string, tag: string) {
    this.#dir = dir
    this.#tag = tag
    this.routers = NUMBERS.map((number) => ({
      number,
      namespace: this.#router(number),
      vty_dir: join(dir, `r${number}`),
      host: hostIn(this.#router(number)),
      pid: async (daemon) => Number((await readFile(join(dir, `r${number}`, `${daemon}.pid`), 'utf8')).trim()),
    }))
  }

  async build(): Promise<void> {
    for (const number of NUMBERS) {
      await addNamespace(this.#router(number))
      await addNamespace(this.#host(number))
    }
    for (const [a, b] of [
      [1, 2],
      [1, 3],
      [2, 3],
    ] as const)
      await this.#connect(a, b)
    for (const number of NUMBERS) await this.#overlay(number)
    await Promise.all(NUMBERS.map((number) => this.#daemons(number)))
    // Routers learn the addresses of hosts only after these have sent something.
    for (const number of NUMBERS)
      await inside(this.#host(number), 'ping', ['-c', '1', '-W', '2', `10.100.0.${number}`]).catch(() => {})
  }

  async link(from: number, to: number, state: 'up' | 'down'): Promise<void> {
    const number = NUMBERS.find((one) => one === from) ?? 1
    await run('ip', ['-n', this.#router(number), 'link', 'set', `eth${from}${to}`, state])
  }

  async close(): Promise<void> {
    for (const number of NUMBERS) await stopDaemons(join(this.#dir, `r${number}`))
    for (const number of NUMBERS) {
      for (const name of [this.#router(number), this.#host(number)])
        await run('ip', ['netns', 'del', name]).catch(() => {})
    }
    await rm(this.#dir, { recursive: true, force: true })
    await rm(join(tmpdir(), `${this.#tag}.owner`), { force: true })
  }

  #router(number: Number3): string {
    return `${this.#tag}-r${number}`
  }

  #host(number: Number3): string {
    return `${this.#tag}-h${number}`
  }

  async #connect(a: Number3, b: Number3): Promise<void> {
    const [near, far] = [`eth${a}${b}`, `eth${b}${a}`]
    const peer = ['peer', 'name', far, 'netns', this.#router(b)]
    await run('ip', ['link', 'add', near, 'netns', this.#router(a), 'type', 'veth', ...peer])
    for (const [number, name, side] of [
      [a, near, 1],
      [b, far, 2],
    ] as const) {
      await ip(this.#router(number), ['link', 'set', name, 'mtu', '9000'])
      await ip(this.#router(number), ['addr', 'add', `10.${a}${b}.0.${side}/30`, 'dev', name])
      await ip(this.#router(number), ['link', 'set', name, 'up'])
    }
  }

  async #overlay(number: Number3): Promise<void> {
    const router = this.#router(number)
    await ip(router, ['addr', 'add', `10.255.0.${number}/32`, 'dev', 'lo'])
    for (const vni of [...L2_VNIS, L3_VNI]) {
      const mac = `02:00:00:0${number}:${String(vni).padStart(4, '0').slice(0, 2)}:01`
      // A bridge takes the lowest MAC of its ports, and the router MAC would change with them.
      await ip(router, ['link', 'add', `br${vni}`, 'address', mac, 'type', 'bridge'])
      await ip(router, [
        'link',
        'add',
        `vxlan${vni}`,
        'type',
        'vxlan',
        'id',
        String(vni),
        'local',
        `10.255.0.${number}`,
        'dstport',
        '4789',
        'nolearning',
      ])
      await ip(router, ['link', 'set', `vxlan${vni}`, 'master', `br${vni}`])
      await ip(router, [
        'link',
        'set',
        `vxlan${vni}`,
        'type',
        'bridge_slave',
        'neigh_suppress',
        'on',
        'learning',
        'off',
      ])
      if (vni !== L3_VNI) await ip(router, ['addr', 'add', `10.${vni}.0.${number}/24`, 'dev', `br${vni}`])
      await ip(router, ['link', 'set', `br${vni}`, 'up'])
      await ip(router, ['link', 'set', `vxlan${vni}`, 'up'])
    }
    const port = `vnet${number}`
    const peer = ['peer', 'name', 'eth0', 'netns', this.#host(number)]
    await run('ip', ['link', 'add', port, 'netns', router, 'type', 'veth', ...peer])
    await ip(router, ['link', 'set', port, 'master', 'br100'])
    await ip(router, ['link', 'set', port, 'up'])
    await ip(this.#host(number), ['addr', 'add', `10.100.0.1${number}/24`, 'dev', 'eth0'])
    await ip(this.#host(number), ['link', 'set', 'eth0', 'up'])
  }

  async #daemons(number: Number3): Promise<void> {
    const dir = join(this.#dir, `r${number}`)
    await mkdir(dir, { mode: 0o755 })
    await writeFile(join(dir, 'frr.conf'), configOf(number))
    await writeFile(join(dir, 'vtysh.conf'), '')
    const uid = Number((await run('id', ['-u', 'frr'])).stdout)
    const gid = Number((await run('id', ['-g', 'frr'])).stdout)
    for (const path of [dir, join(dir, 'frr.conf'), join(dir, 'vtysh.conf')]) await chown(path, uid, gid)
    const common = ['-d', '-A', '127.0.0.1', '--vty_socket', dir, '-z', join(dir, 'zserv.api')]
    const extra: Record<string, string[]> = { zebra: ['-s', '90000000'], bfdd: ['--bfdctl', join(dir, 'bfdd.sock')] }
    for (const daemon of ['zebra', 'bgpd', 'ospfd', 'bfdd', 'staticd']) {
      const args = [...common, '-i', join(dir, `${daemon}.pid`), ...(extra[daemon] ?? [])]
      await inside(this.#router(number), `${DAEMONS}/${daemon}`, args)
    }
    await inside(this.#router(number), 'vtysh', ['--vty_socket', dir, '--config_dir', dir, '-b'])
    // Through vtysh the name stays with vtysh: each daemon must be told over its own socket.
    for (const daemon of ['zebra', 'bgpd', 'ospfd', 'bfdd', 'staticd']) {
      await linuxHost().socketExchange(
        join(dir, `${daemon}.vty`),
        `enable\0configure terminal\0hostname r${number}\0`,
        {
          timeout_ms: 5_000,
          until: countdown(3),
        },
      )
    }
  }
}

/** True when so many answers (three NUL bytes and a status byte each) have come; these are all empty. */
function countdown(answers: number): (piece: Buffer) => boolean {
  let received = 0
  return (piece) => {
    received += piece.length
    return received >= answers * 4
  }
}

/** Unix sockets are not separated by a namespace: only commands have to be run inside. */
function hostIn(namespace: string): Host {
  const host = linuxHost()
  return { ...host, run: (tool, args, options) => host.run('ip', ['netns', 'exec', namespace, tool, ...args], options) }
}

async function addNamespace(name: string): Promise<void> {
  await run('ip', ['netns', 'add', name])
  await ip(name, ['link', 'set', 'lo', 'up'])
  for (const setting of ['ip_forward=1', 'conf.all.rp_filter=0', 'conf.default.rp_filter=0']) {
    await inside(name, 'sysctl', ['-q', '-w', `net.ipv4.${setting}`])
  }
}

function ip(namespace: string, args: string[]): Promise<unknown> {
  return run('ip', ['-n', namespace, ...args])
}

function inside(namespace: string, program: string, args: string[]): Promise<unknown> {
  return run('ip', ['netns', 'exec', namespace, program, ...args], { timeout: 30_000 })
}

/** By the pid files that the daemons were told to write; a stopped one must go on before it can end. */
async function stopDaemons(dir: string): Promise<void> {
  const files = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.pid'))
  for (const file of files) {
    const pid = Number(await readFile(join(dir, file), 'utf8').catch(() => ''))
    if (!Number.isInteger(pid) || pid < 2) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

/** Namespaces of a run that was killed before it could clean up. */
async function removeLeftovers(): Promise<void> {
  const names = (await run('ip', ['netns', 'list'])).stdout.split('\n').map((line) => line.split(' ')[0] ?? '')
  for (const name of names) {
    const tag = new RegExp(`^(${PREFIX}[a-z0-9]{6})-[rh][123]$`).exec(name)?.[1]
    if (tag === undefined) continue
    const owner = Number(await readFile(join(tmpdir(), `${tag}.owner`), 'utf8').catch(() => '0'))
    if (owner > 1 && existsSync(`/proc/${owner}`)) continue
    const pids = (await run('ip', ['netns', 'pids', name])).stdout.split('\n').map(Number)
    for (const pid of pids.filter((one) => one > 1)) process.kill(pid, 'SIGKILL')
    await run('ip', ['netns', 'del', name]).catch(() => {})
  }
}

function configOf(number: Number3): string {
  const others = NUMBERS.filter((one) => one !== number)
  const links = others.map(
    (other) => `interface eth${number}${other}
 ip ospf network point-to-point
 ip ospf area 0
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf bfd
`,
  )
  const peers = others.map(
    (other) => ` neighbor 10.255.0.${other} remote-as 65000
 neighbor 10.255.0.${other} update-source lo
 neighbor 10.255.0.${other} bfd
 neighbor 10.255.0.${other} timers 3 9
 neighbor 10.255.0.${other} timers connect 2
`,
  )
  const active = others.map((other) => `  neighbor 10.255.0.${other} activate\n`)
  return `vni ${L3_VNI}
${links.join('')}interface lo
 ip ospf area 0
ip prefix-list TENANT seq 5 permit 10.100.0.0/16 le 24
ip prefix-list TENANT seq 10 permit 10.200.0.0/16 le 24
route-map TENANT permit 10
 match ip address prefix-list TENANT
router bgp 65000
 bgp router-id 10.255.0.${number}
 no bgp default ipv4-unicast
${peers.join('')} address-family ipv4 unicast
  redistribute connected route-map TENANT
 exit-address-family
 address-family l2vpn evpn
${active.join('')}  advertise-all-vni
  advertise ipv4 unicast
 exit-address-family
router ospf
 ospf router-id 10.255.0.${number}
`
}

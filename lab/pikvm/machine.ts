/**
 * The machine behind a simulated KVM: it starts from the connected image before its disk, as the installer does what the answer
 * file says (deploy/installer/README.md), and phones home.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { readIsoFile } from '../iso9660.ts'
import type { Simulation } from './simulation.ts'
import type { Disk } from './state.ts'

interface Answers {
  mode: 'install' | 'reveal'
  token: string
  callback: { url: string }
  hostname: string
  pool: { type: string; disks: string[] }
  network: { mac: string; address: string | null }
  ssh_port?: number
}

type Power = AbortSignal

export function startMachine(sim: Simulation): void {
  const { machine, speed } = sim.state
  const power = sim.cut()
  sim.go(async () => {
    await sim.pause(speed.power_ms, power)
    machine.power = true
    machine.boots += 1
    await boot(sim, power)
  })
}

export function stopMachine(sim: Simulation, after_ms: number): void {
  const { machine } = sim.state
  sim.go(async () => {
    await sim.pause(after_ms)
    sim.cut()
    machine.power = false
  })
}

async function boot(sim: Simulation, power: Power): Promise<void> {
  const { drive, images, machine, speed } = sim.state
  await sim.pause(speed.boot_ms, power)
  const medium = drive.connected && drive.image !== null ? images.get(drive.image) : undefined
  const file = medium === undefined ? undefined : readIsoFile(medium.bytes, 'node/answers.json')
  if (file !== undefined) {
    machine.booted_from = 'media'
    return install(sim, JSON.parse(file.toString('utf8')) as Answers, power)
  }
  if (machine.installed === null) {
    machine.booted_from = 'nothing'
    return
  }
  machine.booted_from = 'disk'
  await firstBoot(sim, machine.installed as unknown as Answers, power)
}

/** What the service said; undefined when it did not answer or refused. */
async function phoneHome(sim: Simulation, answers: Answers, phase: string, more: object, power: Power) {
  const { machine, habits } = sim.state
  const macs = habits.outcome === 'other-mac' ? ['02:00:00:ff:ff:ff'] : machine.nics.map(({ mac }) => mac)
  const body = JSON.stringify({ token: answers.token, phase, macs, boot_id: randomUUID(), ...more })
  for (;;) {
    try {
      const response = await fetch(answers.callback.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        signal: power,
      })
      const text = await response.text()
      machine.answers.push(`${phase}: ${response.status} ${text.slice(0, 200)}`)
      if (response.status !== 429 && response.status < 500) {
        return response.ok ? (JSON.parse(text) as { next: string }).next : undefined
      }
    } catch {
      power.throwIfAborted()
    }
    await sim.pause(sim.state.speed.poll_ms, power)
  }
}

async function install(sim: Simulation, answers: Answers, power: Power): Promise<void> {
  const { machine, habits, speed } = sim.state
  if (answers.mode === 'reveal') return reveal(sim, answers, power)
  const next = await asked(sim, answers, 'live-booted', {}, power)
  if (next === 'restart') return boot(sim, power)
  if (next !== 'continue') return
  if (habits.outcome === 'hang') return
  await sim.pause(speed.install_ms, power)
  const missing = answers.pool.disks.find(
    (wanted) => habits.outcome === 'wrong-disk' || !machine.disks.some((disk) => isDisk(disk, wanted)),
  )
  if (missing !== undefined) {
    const failure = { code: 'disk-not-found', detail: `no disk ${missing}` }
    await phoneHome(sim, answers, 'failed', failure, power)
    return
  }
  const done = { pool_health: 'ONLINE', ssh_host_keys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxhYg=='] }
  // It installs over and over, as a machine that never leaves its medium.
  if (habits.outcome === 'loop') {
    await phoneHome(sim, answers, 'installed', done, power)
    return boot(sim, power)
  }
  machine.installed = answers as unknown as Record<string, unknown>
  if ((await asked(sim, answers, 'installed', done, power)) === 'restart') return boot(sim, power)
}

/** Asks until it is no longer to wait. */
async function asked(sim: Simulation, answers: Answers, phase: string, more: object, power: Power) {
  for (;;) {
    const next = await phoneHome(sim, answers, phase, more, power)
    if (next !== 'wait') return next
    await sim.pause(sim.state.speed.poll_ms, power)
  }
}

function isDisk({ serial, wwn }: Disk, wanted: string): boolean {
  return wanted === serial || wanted === wwn || wanted.endsWith(serial) || wanted.endsWith(wwn)
}

async function reveal(sim: Simulation, answers: Answers, power: Power): Promise<void> {
  const { machine, speed } = sim.state
  const report = {
    system: { manufacturer: 'Lab', product: 'Lab R1', serial: machine.serial, uuid: null },
    cpu: { model: 'Lab CPU 16C', sockets: 1, cores: 16, threads: 32 },
    memory_bytes: 64 * 1024 ** 3,
    nics: machine.nics.map(({ name, mac, link }) => ({
      name, mac, pci: '0000:01:00.0', driver: 'lab', link, speed_mbps: link ? 10_000 : null, neighbour: null,
    })),
    disks: machine.disks.map(({ name, serial, wwn, bytes }) => ({
      name, serial, wwn, bytes, type: 'ssd', removable: false, signatures: machine.installed === null ? [] : ['zfs_member'],
    })),
    bmc_ip: null,
  } // biome-ignore format: records
  await phoneHome(sim, answers, 'revealed', { report }, power)
  stopMachine(sim, speed.shutdown_ms)
}

/** The installed system: SSH first, then it says that it is there. */
async function firstBoot(sim: Simulation, answers: Answers, power: Power): Promise<void> {
  const { habits } = sim.state
  const address = answers.network.address?.split('/')[0] ?? null
  if (address !== null && habits.outcome !== 'no-ssh') await serveSsh(sim, address, answers.ssh_port ?? 22, power)
  const addresses = address === null ? [] : [address]
  await phoneHome(sim, answers, 'first-boot', { addresses }, power)
}

/** As much of an SSH server as a probe sees, until the power is cut. */
async function serveSsh(sim: Simulation, address: string, port: number, power: Power): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('SSH-2.0-OpenSSH_9.2p1 Debian-2+lab\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
  })
  sim.go(
    () =>
      new Promise<void>((resolve) => {
        const close = (): void => void server.close(() => resolve())
        if (power.aborted) close()
        else power.addEventListener('abort', close, { once: true })
      }),
  )
}

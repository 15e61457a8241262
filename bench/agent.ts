// The agent on this very machine: what it costs while nobody asks, and how soon it tells the node's network, against the same
// commands and files read one after another in the same run.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { monitoring } from '#src/contract/network/monitoring.ts'
import { createAgents } from '#src/kernel/agents.ts'
import {
  CONTROL_NAME, createCa, createCertificateRequest, fingerprintOf, issueControlCertificate, issueNodeCertificate,
} from '#src/kernel/certificates.ts' // biome-ignore format: one list
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { writePrivateFile } from '#src/kernel/keyring.ts'
import { createCache } from '#src/node/cache.ts'
import { parseNodeNetConfig } from '#src/node/net/config.ts'
import { createEthtool } from '#src/node/net/ethtool.ts'
import { createNetworkSnapshots } from '#src/node/net/snapshot.ts'
import { type Program, startProgram } from './processes.ts'
import { type BenchResult, median } from './result.ts'

/** Compiling and first readings are over by then. */
const SETTLE_MS = 10_000
/** Six samples of the network and the disks, two reads of the cluster store, one at disks and pools. */
const IDLE_MS = 30_000
const ROUNDS = 15
/** Callers within a second share one snapshot: a round that begins later reads again. */
const STALE_MS = 1100

export async function run(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gp-bench-agent-'))
  const control = await startHeartbeats()
  let program: Program | undefined
  try {
    const trust = await makeTrust(folder)
    const file = join(folder, 'agent.yaml')
    const config = { listen: { host: '127.0.0.1', port: 0 }, control_url: urlOf(control), state_dir: folder }
    writeFileSync(file, JSON.stringify(config))
    const arguments_ = ['agent', '--config', file]
    program = await startProgram(join(import.meta.dirname, '../bin/cli.ts'), arguments_, { flags: [] })
    const idle = await measureIdle(program)
    return [...idle, await measureSummary(program, trust)]
  } finally {
    await program?.stop()
    control.closeAllConnections()
    control.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureIdle(program: Program): Promise<BenchResult[]> {
  await pause(SETTLE_MS)
  const [own, all, started] = [program.cpu_us(), program.cpu_with_children_us(), performance.now()]
  await pause(IDLE_MS)
  const passed_us = (performance.now() - started) * 1000
  const share = ((program.cpu_with_children_us() - all) / passed_us) * 100
  const alone = ((program.cpu_us() - own) / passed_us) * 100
  const seconds = `${IDLE_MS / 1000} s without a request`
  const memory = program.memory_bytes() / 1e6
  return [
    { name: 'idle agent with its samplers and all they run', value: share, unit: '% of a core', limit: 1, against: `${alone.toFixed(2)} % in the agent itself, over ${seconds}` },
    { name: 'idle memory of the agent', value: memory, unit: 'MB', limit: 160, against: `resident after ${seconds}` },
  ] // biome-ignore format: a table
}

async function measureSummary(program: Program, { address, agents }: Trust): Promise<BenchResult> {
  const node = { ...address, port: Number(new URL(program.ready['url'] ?? '').port) }
  const client = agents.clientFor(node, monitoring.routes, { timeout_ms: 10_000 })
  const { readings, host } = rememberReadings(linuxHost())
  const cache = createCache(host)
  const snapshot = createNetworkSnapshots({
    host,
    config: parseNodeNetConfig({}),
    cache,
    ethtool: createEthtool(host, cache),
  })
  // What drivers say is kept for a minute; both have read it before it is measured.
  await Promise.all([client.nodeSummary(), snapshot()])
  await pause(STALE_MS)
  readings.length = 0
  await snapshot()
  const one_by_one = async (): Promise<void> => {
    for (const read of readings) await read()
  }
  const answers: number[] = []
  const sums: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    // Neither finds the machine warmed up by the other.
    await pause(STALE_MS)
    answers.push(await timed(() => client.nodeSummary()))
    await pause(STALE_MS)
    sums.push(await timed(one_by_one))
  }
  await agents.close()
  const [answer, sum] = [median(answers), median(sums)]
  return {
    name: 'network of the node over HTTP, median',
    value: answer / sum,
    unit: 'x',
    limit: 1.2,
    against: `${answer.toFixed(1)} ms against ${sum.toFixed(1)} ms for its ${readings.length} readings one after another`,
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Everything that is read of the machine, ready to be read once more. */
function rememberReadings(host: Host): { host: Host; readings: (() => Promise<unknown>)[] } {
  const readings: (() => Promise<unknown>)[] = []
  const remembered = <T>(read: () => Promise<T>): Promise<T> => {
    readings.push(read)
    return read()
  }
  const remembering: Host = {
    ...host,
    read: (path) => remembered(() => host.read(path)),
    list: (path) => remembered(() => host.list(path)),
    link: (path) => remembered(() => host.link(path)),
    run: (tool, args, options) => remembered(() => host.run(tool, args, options)),
    socketExchange: (path, request, options) => remembered(() => host.socketExchange(path, request, options)),
  }
  return { host: remembering, readings }
}

type Trust = Awaited<ReturnType<typeof makeTrust>>

/** A CA of the benchmark's own; the agent finds itself enrolled by it. */
async function makeTrust(folder: string) {
  const ca = await createCa()
  const { key, request } = await createCertificateRequest('bench')
  const { certificate } = await issueNodeCertificate(ca, request, 'bench')
  const identity = {
    node_id: 'bench', bmc_ip: '10.200.0.1', key, certificate, authority: ca.certificate, control_name: CONTROL_NAME,
  } // biome-ignore format: one record
  writePrivateFile(join(folder, 'identity.json'), JSON.stringify(identity))
  const mine = { ...(await issueControlCertificate(ca)), ca: ca.certificate }
  const agents = createAgents({ identity: () => Promise.resolve(mine) })
  const address = { name: 'bench', address: '127.0.0.1', fingerprints: [fingerprintOf(certificate)] }
  return { agents, address }
}

/** Takes heartbeats as often as the control plane does by default. */
async function startHeartbeats(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ interval_ms: 10_000, renew: false }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function urlOf(server: Server): string {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

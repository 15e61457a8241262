// Watches 500 BMCs as the service does, in a process of its own, so that its processor time and memory can be read.
import { createRedfish } from '#src/drivers/redfish/connections.ts'
import { createLog } from '#src/kernel/log.ts'
import { powerReader } from '#src/modules/bmc/readings.ts'
import { createPowerStreams } from '#src/modules/power-streams.ts'
import { releaseStartUpMemory } from '../bin/memory.ts'

const [port = '0', count = '0'] = process.argv.slice(2)
const log = createLog({ level: 'silent' })
const redfish = createRedfish({ allowed_networks: ['127.0.0.0/8'], timeout_ms: 10_000, retry_ms: 500, log })
let pinned = ''
const bmcs = {
  open: async ({ bmc_ip }: { bmc_ip: string }) =>
    redfish.open({
      bmc_ip,
      port: Number(port),
      system_id: null,
      credentials: { username: 'root', password: 'bench' },
      tls: { mode: 'pin', pin: async ({ fingerprint }) => (pinned ||= fingerprint) },
    }),
}
const streams = createPowerStreams({ device: 'BMC', open: powerReader(bmcs), watch_ms: 10_000, log })
const known = new Set<string>()
process.on('message', (asked) => {
  if (asked === 'start') void start()
  else if (asked === 'memory') process.send?.({ memory_bytes: memoryInUse() })
  else {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu_ms: (user + system) / 1000, known: known.size, polled: streams.polled() })
  }
})

/** Resident after a collection that returns what is free: how far the young generation has grown is no cost of a BMC. */
function memoryInUse(): number {
  releaseStartUpMemory()
  return process.memoryUsage().rss
}

async function start(): Promise<void> {
  for (let n = 0; n < Number(count); n += 1) {
    const bmc_ip = `127.9.${Math.floor(n / 250)}.${(n % 250) + 1}`
    // Two watchers each: they share the poller.
    for (let watcher = 0; watcher < 2; watcher += 1) {
      const source = await streams.watch({ bmc_ip, by: 'bench' })
      source.open({
        send: () => Boolean(known.add(bmc_ip)),
        drained: () => Promise.resolve(),
        end: () => {},
        closed: false,
      })
    }
  }
}

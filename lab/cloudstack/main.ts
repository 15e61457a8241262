/** Starts the simulator as a program of its own, for benches: prints one JSON line when it is ready. */
import { parseArgs } from 'node:util'
import { DEFAULT_SIZE } from '../site.ts'
import type { SiteSize } from '../site.ts'
import { startCloudStack } from './server.ts'
import type { CloudStackOptions } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    vms: { type: 'string' },
    hosts: { type: 'string' },
    clusters: { type: 'string' },
    networks: { type: 'string' },
    tenants: { type: 'string' },
    time: { type: 'string', default: 'auto' },
    state: { type: 'string' },
    'loopback-webhooks': { type: 'boolean', default: false },
    latencies: { type: 'boolean', default: false },
    'exit-with-stdin': { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})

const options: CloudStackOptions = {
  port: whole('port', values.port),
  control_port: whole('control-port', values['control-port']),
  host: values.host,
  size: sizeOf(),
  latencies: values.latencies,
  loopback_webhooks: values['loopback-webhooks'],
  time: values.time === 'step' ? 'step' : 'auto',
  ...(values.state === undefined ? {} : { state_file: values.state }),
  ...(values.verbose ? { log: (line: string) => process.stderr.write(`${line}\n`) } : {}),
}
const lab = await startCloudStack(options)
process.stdout.write(
  `${JSON.stringify({ url: lab.url, control_url: lab.control_url, api_key: lab.api_key, secret_key: lab.secret_key })}\n`,
)

let stopping = false
function stop(): void {
  if (stopping) return
  stopping = true
  lab.close().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
if (values['exit-with-stdin']) process.stdin.resume().once('end', stop).once('error', stop)

/** A larger site has more hosts and clusters too, unless told otherwise. */
function sizeOf(): SiteSize {
  const vms = values.vms === undefined ? DEFAULT_SIZE.vms : whole('vms', values.vms)
  const hosts =
    values.hosts === undefined ? Math.max(DEFAULT_SIZE.hosts, Math.ceil(vms / 60)) : whole('hosts', values.hosts)
  return {
    vms,
    hosts,
    clusters:
      values.clusters === undefined
        ? Math.max(DEFAULT_SIZE.clusters, Math.ceil(hosts / 16))
        : whole('clusters', values.clusters),
    networks: values.networks === undefined ? DEFAULT_SIZE.networks : whole('networks', values.networks),
    tenants: values.tenants === undefined ? DEFAULT_SIZE.tenants : whole('tenants', values.tenants),
  }
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} is a whole number`)
  return value
}

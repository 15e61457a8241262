/** Starts the simulated address server as a program of its own: prints one JSON line when it is ready. */
import { parseArgs } from 'node:util'
import { startTechnitium } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    'dns-port': { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    state: { type: 'string' },
  },
})

const lab = await startTechnitium({
  host: values.host,
  port: Number(values.port),
  control_port: Number(values['control-port']),
  dns_port: Number(values['dns-port']),
  log: (line) => console.error(line),
  ...(values.state === undefined ? {} : { state_file: values.state }),
})
const { url, control_url, token, dns_port } = lab
console.log(JSON.stringify({ url, control_url, token, dns_port }))

function stop(): void {
  lab.close().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)

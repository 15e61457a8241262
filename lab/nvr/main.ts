/** Starts the simulated NVR as a program of its own: prints one JSON line when it is ready. */
import { parseArgs } from 'node:util'
import { selfSigned } from './certificate.ts'
import { startNvr } from './server.ts'

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8971' },
    'control-port': { type: 'string', default: '0' },
    release: { type: 'string', default: '0.17' },
    // Groundplane trusts its NVR by the name nvr.groundplane.internal, not by its address.
    'certificate-name': { type: 'string', default: 'nvr.groundplane.internal' },
    'person-every': { type: 'string', default: '90' },
    relay: { type: 'string' },
    'exit-with-stdin': { type: 'boolean', default: false },
  },
})

const lab = await startNvr({
  address: values.address,
  port: Number(values.port),
  control_port: Number(values['control-port']),
  release: values.release === '0.16' ? '0.16' : '0.17',
  certificate: await selfSigned(values['certificate-name']),
  timetable: { person_every_s: Number(values['person-every']) },
  ...(values.relay === undefined ? {} : { relay_url: values.relay }),
  log: (line) => console.error(line),
})
const { url, control_url, admin_password, ca } = lab
console.log(JSON.stringify({ url, control_url, admin_password, ca }))

function stop(): void {
  lab.close().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
if (values['exit-with-stdin']) process.stdin.resume().once('end', stop).once('error', stop)

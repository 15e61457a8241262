// `npm start`, `groundplane lab`: a whole simulated private cloud behind the real API, on this machine.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import closeWithGrace from 'close-with-grace'
import { numberArgument, readArguments } from './arguments.ts'
import { ownStateDir, startDataCentre } from './data-centre.ts'
import { watchLauncher } from './launcher.ts'

const started = performance.now()
const USAGE = `Usage: groundplane lab [token] [options]      npm start -- [options]

  --port N       port of the API and the console; 8080, or PORT
  --host ADDRESS address to listen on; 127.0.0.1
  --vms N        virtual machines of a new lab; 40
  --state DIR    where everything is kept; GROUNDPLANE_STATE
  --no-agents    without the nodes
  --no-cameras   without the cameras
  --relay URL    of a go2rtc that carries the video

token            prints the admin token of the lab that runs`

const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    port: { type: 'string', default: process.env.PORT ?? '8080' },
    host: { type: 'string', default: '127.0.0.1' },
    vms: { type: 'string', default: '40' },
    state: { type: 'string', ...(process.env.GROUNDPLANE_STATE ? { default: process.env.GROUNDPLANE_STATE } : {}) },
    'no-agents': { type: 'boolean', default: false },
    'no-cameras': { type: 'boolean', default: false },
    relay: { type: 'string' },
  },
})

try {
  if (positionals.length > 0) printToken(positionals)
  const centre = await startDataCentre({
    host: values.host,
    port: numberArgument('port', values.port, [0, 65_535]),
    vms: numberArgument('vms', values.vms, [0, 100_000]),
    state_dir: values.state === undefined ? undefined : resolve(values.state),
    agents: !values['no-agents'],
    cameras: !values['no-cameras'],
    relay_url: values.relay,
    environment: process.env,
  })
  console.log(banner(centre, performance.now() - started))
  const stopping = closeWithGrace({ delay: 15_000, logger: false }, async ({ err }) => {
    if (err !== undefined) console.error(err)
    await centre.close()
  })
  watchLauncher(process.env.GROUNDPLANE_LAUNCHER_PID, () => stopping.close())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** `groundplane lab token`: for the command line of another terminal. */
function printToken(words: readonly string[]): never {
  if (words.join(' ') !== 'token') throw new Error(`lab: there is no "${words.join(' ')}"; there is: token`)
  const file = join(values.state === undefined ? ownStateDir() : resolve(values.state), 'control/admin-token')
  if (!existsSync(file)) throw new Error(`${file} is not there: start the lab first (npm start)`)
  console.log(readFileSync(file, 'utf8').trim())
  process.exit(0)
}

/** Every line of "Try" works as printed, from any folder. */
function banner(centre: Awaited<ReturnType<typeof startDataCentre>>, milliseconds: number): string {
  const { url, admin_token, console_url, dns_port, dhcp_clients_url } = centre
  const command = `${resolve(import.meta.dirname, '../groundplane')} --url ${url} --token ${admin_token}`
  return [
    '',
    `Groundplane lab is ready (${(milliseconds / 1000).toFixed(1)} s)`,
    '',
    `  Console      ${console_url}`,
    `  API          ${url}`,
    `  Docs         ${url}/docs`,
    `  Admin token  ${admin_token}`,
    `  Cameras      ${url}/cam/player`,
    `  DNS          dig @127.0.0.1 -p ${dns_port} www.acme.example`,
    `  DHCP client  curl -s ${dhcp_clients_url}/obtain -d '{"scope":"acme-office","mac":"52:54:00:30:00:aa"}'`,
    `  Log          ${centre.log_file}`,
    '',
    'Try:',
    `  curl -s -H 'Authorization: Bearer ${admin_token}' ${url}/compute/vms/metrics/aggregate`,
    `  ${command} vm list`,
    `  ${command} vm start --wait ${centre.stopped_vm}`,
    '',
    'Ctrl-C stops everything; what was done is kept for the next start.',
    '',
  ].join('\n')
}

/** Runs simulated BMCs by themselves: `node lab/redfish/main.ts [--profile idrac9-5] [--count 500] [--port 8443]`. */
import { parseArgs } from 'node:util'
import { PROFILE_NAMES, type ProfileName } from './profiles.ts'
import { startRedfish } from './server.ts'

const { values } = parseArgs({
  options: {
    profile: { type: 'string', default: 'idrac9-7' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    control_port: { type: 'string', default: '0' },
  },
})
const profile = PROFILE_NAMES.find((name) => name === values.profile) as ProfileName | undefined
if (profile === undefined) {
  console.error(`profile is one of ${PROFILE_NAMES.join(', ')}`)
  process.exit(2)
}
const lab = await startRedfish({
  bmcs: [{ name: profile, profile, host: values.host, port: Number(values.port) }],
  control_port: Number(values.control_port),
})
for (const { host, port, username, password, fingerprint } of Object.values(lab.bmcs)) {
  console.log(JSON.stringify({ url: `https://${host}:${port}`, username, password, fingerprint: fingerprint() }))
}
console.log(JSON.stringify({ control_url: lab.control_url }))
process.once('SIGTERM', () => void lab.close())
process.once('SIGINT', () => void lab.close())

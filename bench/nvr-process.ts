// The lab's NVR as a process of its own, with the certificate that provisioning would have installed; prints one line of JSON.
import { NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { selfSigned } from '../lab/nvr/certificate.ts'
import { startNvr } from '../lab/nvr/server.ts'

const lab = await startNvr({ certificate: await selfSigned(NVR_SERVER_NAME) })
const { url, control_url, admin_password, ca } = lab
console.log(JSON.stringify({ url, control_url, admin_password, ca }))
process.once('SIGTERM', () => {
  void lab.close().finally(() => process.exit(0))
})
// Nothing is left running when the benchmark itself is killed.
process.stdin.resume().once('end', () => process.exit(1))

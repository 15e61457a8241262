// An NVR of which a test decides each answer, for what the simulated one does not do: recorded answers, ranges of segments, endless
// clips.
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { selfSigned } from '../../lab/nvr/certificate.ts'

export interface FakeNvr {
  url: string
  ca: string
  admin_password: string
  close(): void
}

export async function startFakeNvr(
  handle: RequestListener,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number } = {},
): Promise<FakeNvr> {
  const certificate = await selfSigned(NVR_SERVER_NAME)
  const server = createServer(certificate, handle)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    ca: certificate.cert,
    admin_password: 'fake-nvr-password',
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A login that always works, and one camera: gate. The rest is `handle`. */
export function withLoginAndCamera(handle: RequestListener): RequestListener {
  const switched = { enabled: true, enabled_in_config: true }
  const gate = { enabled: true, detect: { enabled: true }, record: switched }
  return (request, response) => {
    if (request.url === '/api/login') response.setHeader('set-cookie', 'frigate_token=a.b.c; Path=/').end()
    else if (request.url === '/api/config') response.end(JSON.stringify({ cameras: { gate } }))
    else handle(request, response)
  }
}

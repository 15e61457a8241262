/** The HTTPS service of one simulated device: an address of its own, and a certificate that it can change. */
import { createServer, type Server } from 'node:https'
import { selfSigned } from './redfish/certificate.ts'

export interface DeviceServer {
  server: Server
  port: number
  fingerprint(): string
  /** Shows another certificate from now on; open connections end. */
  rotateCertificate(): Promise<void>
}

/** It listens; whoever opened it answers its requests. */
export async function openDevice(name: string, host: string, port = 0): Promise<DeviceServer> {
  let certificate = await selfSigned(name)
  const server = createServer({ ...certificate, keepAliveTimeout: 60_000 })
  // A client that checks the certificate first hangs up in the middle of the handshake.
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error(`${name} has no TCP address`)
  return {
    server,
    port: address.port,
    fingerprint: () => certificate.fingerprint,
    async rotateCertificate() {
      certificate = await selfSigned(name)
      server.setSecureContext(certificate)
      server.closeAllConnections()
    },
  }
}

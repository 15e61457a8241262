// 500 simulated BMCs in a process of their own: one TLS server that answers at every loopback address.
import { createServer } from 'node:https'
import { selfSigned } from '../lab/redfish/certificate.ts'

const system = '/redfish/v1/Systems/1'
const DOCUMENTS: Readonly<Record<string, object>> = {
  '/redfish/v1': {
    Systems: { '@odata.id': '/redfish/v1/Systems' },
    Links: { Sessions: { '@odata.id': '/redfish/v1/Sessions' } },
  },
  '/redfish/v1/Systems': { Members: [{ '@odata.id': system }] },
  [system]: { Id: '1', PowerState: 'On', Boot: { BootSourceOverrideEnabled: 'Disabled' }, Padding: 'x'.repeat(3000) },
}
let reads = 0
const server = createServer({ ...(await selfSigned('bench')), keepAliveTimeout: 60_000 }, (request, response) => {
  const path = (request.url ?? '').replace(/\/$/, '')
  if (request.method === 'POST') {
    response.writeHead(201, { 'x-auth-token': 'bench', location: '/redfish/v1/Sessions/1' }).end()
    return
  }
  if (path === system) reads += 1
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(DOCUMENTS[path] ?? {}))
})
server.listen(0, '0.0.0.0', () => process.send?.({ port: (server.address() as { port: number }).port }))
process.on('message', () => process.send?.({ reads }))

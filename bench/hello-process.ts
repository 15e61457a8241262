// The bounds that a route is held against: a bare node:http server, or a bare Fastify route, that says hello.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'

const ANSWER = { hello: 'world' }

if (process.argv[2] === 'fastify') {
  const app = Fastify({ logger: false })
  app.get('/', () => ANSWER)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  console.log(JSON.stringify({ ready: 'yes', url: `${url}/` }))
} else {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(ANSWER))
  })
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    console.log(JSON.stringify({ ready: 'yes', url: `http://127.0.0.1:${port}/` }))
  })
}
process.once('SIGTERM', () => process.exit(0))

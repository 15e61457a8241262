/** Calls about the relay's streams over HTTP. */
import { type Call, type Answer, json, Rejection, type Route, route } from './http-call.ts'
import type { Relay } from './relay.ts'

export function relayRoutes(relay: Relay): Route[] {
  return [
    route('GET', '/go2rtc/streams/:name', 'anyone', (call) => describe(relay, call)),
    route('GET', '/go2rtc/api', 'anyone', () => json({ version: '1.9.10', rtsp: { listen: ':8554' } })),
  ]
}

/** The program asks the relay to connect to the source; what the relay refuses becomes one text. */
function describe(relay: Relay, { params }: Call): Answer {
  const name = params['name'] ?? ''
  const stream = relay.stream(name)
  const described = relay.describe(name, true)
  if (described === null || stream === null || stream.camera.offline) {
    throw new Rejection(500, { success: false, message: 'Error fetching stream data' })
  }
  return json(described)
}

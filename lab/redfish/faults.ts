/** Faults of single requests: armed for a pattern, used up in order. */
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Refused, type Reply } from './answer.ts'

export type FaultKind =
  | 'delay'
  | 'silent'
  | 'drop'
  | 'lose-answer'
  | 'status'
  | 'garbage'
  | 'cut'
  | 'huge'
  | 'wrong-type'
  | 'redirect'

export interface BmcFault {
  kind: FaultKind
  /** Pattern of "METHOD /path". */
  match: string
  times?: number
  delay_ms?: number
  status?: number
  message_id?: string
  text?: string
  location?: string
}

export interface ArmedFault {
  /** True: the answer was given, or will never be. */
  apply(act: () => Promise<Reply>, response: ServerResponse): Promise<boolean>
}

export interface BmcFaults {
  add(fault: BmcFault): void
  take(asked: string): ArmedFault | undefined
  clear(): void
}

const HUGE_BYTES = 20 * 1024 * 1024

export function createBmcFaults(): BmcFaults {
  let armed: (BmcFault & { times: number })[] = []
  return {
    add: (fault) => void armed.push({ times: 1, ...fault }),
    clear: () => {
      armed = []
    },
    take(asked) {
      const fault = armed.find(({ match }) => new RegExp(match).test(asked))
      if (fault === undefined) return undefined
      fault.times -= 1
      armed = armed.filter(({ times }) => times > 0)
      return { apply: (act, response) => apply(fault, act, response) }
    },
  }
}

async function apply(fault: BmcFault, act: () => Promise<Reply>, response: ServerResponse): Promise<boolean> {
  const json = { 'content-type': 'application/json' }
  switch (fault.kind) {
    case 'delay':
      await pause(fault.delay_ms ?? 1000)
      return false
    case 'silent':
      return true
    case 'drop':
      response.socket?.destroy()
      return true
    case 'lose-answer':
      await act()
      response.socket?.destroy()
      return true
    case 'status': {
      const { status, body } = new Refused(
        fault.status ?? 500,
        fault.message_id ?? 'Base.1.12.InternalError',
        fault.text ?? 'Something is wrong.',
      ).reply
      response.writeHead(status, json).end(JSON.stringify(body))
      return true
    }
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>It works!</body></html>')
      return true
    case 'cut':
      response.writeHead(200, { ...json, 'content-length': 4096 }).write('{"PowerState": "O')
      response.socket?.end()
      return true
    case 'huge':
      response.writeHead(200, json).end(Buffer.alloc(HUGE_BYTES, 0x20))
      return true
    case 'wrong-type':
      response.writeHead(200, json).end(JSON.stringify({ PowerState: { On: 1 }, Boot: [], Links: 'none', Members: 5 }))
      return true
    case 'redirect':
      response.writeHead(302, { location: fault.location ?? 'https://192.0.2.1/redfish/v1/' }).end()
      return true
  }
}

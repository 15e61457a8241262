/** What can go wrong with single requests to a simulated BMC. */
import type { ServerResponse } from 'node:http'
import { applyCommonFault, type ArmedFaults, type CommonFaultKind } from '../request-faults.ts'
import { Refused, type Reply } from './answer.ts'

export type FaultKind = CommonFaultKind | 'status' | 'cut' | 'huge' | 'wrong-type' | 'redirect'

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

export type BmcFaults = ArmedFaults<BmcFault>

const HUGE_BYTES = 20 * 1024 * 1024

/** True: the answer was given, or will never be. */
export async function applyFault(
  fault: BmcFault,
  act: () => Promise<Reply>,
  response: ServerResponse,
): Promise<boolean> {
  const json = { 'content-type': 'application/json' }
  switch (fault.kind) {
    case 'status': {
      const { status, body } = new Refused(
        fault.status ?? 500,
        fault.message_id ?? 'Base.1.12.InternalError',
        fault.text ?? 'Something is wrong.',
      ).reply
      response.writeHead(status, json).end(JSON.stringify(body))
      return true
    }
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
    default:
      return applyCommonFault(fault.kind, fault.delay_ms, act, response)
  }
}

/** What can go wrong with single requests to a simulated KVM. */
import type { ServerResponse } from 'node:http'
import { applyCommonFault, type ArmedFaults, type CommonFaultKind } from '../request-faults.ts'

export interface KvmFault {
  kind: CommonFaultKind | 'status'
  /** Pattern of "METHOD /path". */
  match: string
  times?: number
  delay_ms?: number
  status?: number
  /** Class name of the device's error. */
  error?: string
}

export type KvmFaults = ArmedFaults<KvmFault>

/** True: the answer was given, or will never be. */
export async function applyFault(
  fault: KvmFault,
  act: () => Promise<unknown>,
  response: ServerResponse,
): Promise<boolean> {
  if (fault.kind !== 'status') return applyCommonFault(fault.kind, fault.delay_ms, act, response)
  const result = { error: fault.error ?? 'MsdIsBusyError', error_msg: 'Planted.' }
  response
    .writeHead(fault.status ?? 409, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ok: false, result }))
  return true
}

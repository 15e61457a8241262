/** Faults of single requests to a simulated KVM: armed for a pattern, used up in order. */
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface KvmFault {
  kind: 'delay' | 'silent' | 'drop' | 'lose-answer' | 'status' | 'garbage'
  /** Pattern of "METHOD /path". */
  match: string
  times?: number
  delay_ms?: number
  status?: number
  /** Class name of the device's error. */
  error?: string
}

export interface KvmFaults {
  add(fault: KvmFault): void
  /** True: the answer was given, or will never be. */
  apply(asked: string, act: () => Promise<unknown>, response: ServerResponse): Promise<boolean>
  clear(): void
}

export function createKvmFaults(): KvmFaults {
  let armed: (KvmFault & { times: number })[] = []
  return {
    add: (fault) => void armed.push({ times: 1, ...fault }),
    clear: () => {
      armed = []
    },
    async apply(asked, act, response) {
      const fault = armed.find(({ match }) => new RegExp(match).test(asked))
      if (fault === undefined) return false
      fault.times -= 1
      armed = armed.filter(({ times }) => times > 0)
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
          const result = { error: fault.error ?? 'MsdIsBusyError', error_msg: 'Planted.' }
          response
            .writeHead(fault.status ?? 409, { 'content-type': 'application/json' })
            .end(JSON.stringify({ ok: false, result }))
          return true
        }
        case 'garbage':
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>It works!</body></html>')
          return true
      }
    },
  }
}

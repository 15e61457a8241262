/** Faults of single requests to a simulated device: armed for a pattern, used up in order. */
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** What can go wrong with any device. */
export type CommonFaultKind = 'delay' | 'silent' | 'drop' | 'lose-answer' | 'garbage'

interface RequestFault {
  /** Pattern of "METHOD /path". */
  match: string
  times?: number
}

export interface ArmedFaults<Fault> {
  add(fault: Fault): void
  /** The fault that is due for this request, used up by one. */
  take(asked: string): Fault | undefined
  clear(): void
}

export function createArmedFaults<Fault extends RequestFault>(): ArmedFaults<Fault> {
  let armed: (Fault & { times: number })[] = []
  return {
    add: (fault) => void armed.push({ times: 1, ...fault }),
    take(asked) {
      const fault = armed.find(({ match }) => new RegExp(match).test(asked))
      if (fault === undefined) return undefined
      fault.times -= 1
      armed = armed.filter(({ times }) => times > 0)
      return fault
    },
    clear: () => {
      armed = []
    },
  }
}

/** True: the answer was given, or will never be. */
export async function applyCommonFault(
  kind: CommonFaultKind,
  delay_ms: number | undefined,
  act: () => Promise<unknown>,
  response: ServerResponse,
): Promise<boolean> {
  switch (kind) {
    case 'delay':
      await pause(delay_ms ?? 1000)
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
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>It works!</body></html>')
      return true
  }
}

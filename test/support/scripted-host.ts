// A host that answers from what a test gives it: file texts, directory listings, and a function for commands.
import type { Host, RunOptions, RunResult } from '#src/kernel/host.ts'

export interface Script {
  files?: Record<string, string>
  folders?: Record<string, string[]>
  links?: Record<string, string>
  /** Undefined: the tool is not installed. */
  run?: (tool: string, args: readonly string[], options?: RunOptions) => Partial<RunResult> | undefined
}

export interface ScriptedHost extends Host {
  /** Commands in the order they were run, as one line each. */
  readonly ran: string[]
  /** Lets time pass on both clocks. */
  pass(milliseconds: number): void
}

export function scriptedHost(script: Script): ScriptedHost {
  const ran: string[] = []
  let elapsed = 0
  const run: Host['run'] = (tool, args, options) => {
    ran.push([tool, ...args].join(' '))
    const answer = script.run?.(tool, args, options)
    return Promise.resolve(
      answer === undefined
        ? { outcome: 'missing', exit_code: null, stdout: '', stderr: '' }
        : { outcome: 'exited', exit_code: 0, stdout: '', stderr: '', ...answer },
    )
  }
  return {
    ran,
    pass: (milliseconds) => {
      elapsed += milliseconds
    },
    read: (path) => Promise.resolve(script.files?.[path] ?? null),
    list: (path) => Promise.resolve(script.folders?.[path] ?? null),
    link: (path) => Promise.resolve(script.links?.[path] ?? null),
    write: () => Promise.reject(new Error('a scripted host is read-only')),
    run,
    spawn: (tool, args, options) => ({ ended: run(tool, args, options), signal: () => {} }),
    socketExchange: () => Promise.resolve({ outcome: 'missing', received: Buffer.alloc(0) }),
    rawSocket: () => Promise.reject(new Error('no raw sockets')),
    now: () => Date.UTC(2026, 10, 20, 12) + elapsed,
    monotonic: () => elapsed,
  }
}

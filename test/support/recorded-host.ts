// A host for tests: files and command outputs given in the test, a clock that the test turns.
import type { Host, RunResult } from '#src/kernel/host.ts'

export interface Recorded {
  files?: Record<string, string>
  /** Names in directories that `files` do not show. */
  folders?: Record<string, string[]>
  links?: Record<string, string>
  /** Command line (tool and arguments with single blanks) to its output, or to how it ended. */
  commands?: Record<string, string | Partial<RunResult>>
}

export interface RecordedHost extends Host {
  /** Command lines in the order in which they were run. */
  readonly ran: string[]
  /** Moves both clocks. */
  pass(milliseconds: number): void
  commands: Record<string, string | Partial<RunResult>>
  files: Record<string, string>
}

/** A tool that no recorded command line begins with is not installed. */
export function recordedHost(recorded: Recorded = {}): RecordedHost {
  let clock_ms = 0
  const commands: RecordedHost['commands'] = { ...recorded.commands }
  const files = { ...recorded.files }
  const ran: string[] = []
  const run = (tool: string, args: readonly string[]): Promise<RunResult> => {
    const line = [tool, ...args].join(' ')
    ran.push(line)
    const found = commands[line]
    const installed = Object.keys(commands).some((known) => known === tool || known.startsWith(`${tool} `))
    const base = { outcome: 'exited', exit_code: 0, stdout: '', stderr: '' } as const
    if (typeof found === 'string') return Promise.resolve({ ...base, stdout: found })
    if (found !== undefined) return Promise.resolve({ ...base, ...found })
    return Promise.resolve(installed ? { ...base, exit_code: 1 } : { ...base, outcome: 'missing', exit_code: null })
  }
  return {
    ran,
    commands,
    files,
    pass(milliseconds) {
      clock_ms += milliseconds
    },
    read: (path) => Promise.resolve(files[path] ?? null),
    list: (path) => {
      const listed = recorded.folders?.[path]
      if (listed !== undefined) return Promise.resolve(listed)
      const names = Object.keys(files).filter((name) => name.startsWith(`${path}/`))
      return Promise.resolve(names.length === 0 ? null : names.map((name) => name.slice(path.length + 1)))
    },
    link: (path) => Promise.resolve(recorded.links?.[path] ?? null),
    write: (path, text) => {
      files[path] = text
      return Promise.resolve()
    },
    run: (tool, args) => run(tool, args),
    spawn: (tool, args) => ({ ended: run(tool, args), signal: () => {} }),
    socketExchange: () => Promise.resolve({ outcome: 'missing', received: Buffer.alloc(0) }),
    rawSocket: () => Promise.reject(new Error('no raw sockets')),
    now: () => 1_795_193_008_000 + clock_ms,
    monotonic: () => clock_ms,
  }
}

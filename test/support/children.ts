// Programs that a test starts: each is ended by its pid when the test is over, also when it failed half-way.
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'

export interface Child {
  pid: number
  process: ChildProcess
  /** What it has printed so far. */
  output(): string
  errors(): string
  /** Sends the signal and waits for the end; answers the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>
  ended(): boolean
}

export interface Children {
  start(program: string, args: readonly string[], options?: SpawnOptions): Child
  /** Kills what still runs. */
  close(): Promise<void>
}

export function createChildren(): Children {
  const running = new Set<Child>()
  return {
    start(program, args, options = {}) {
      const process = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
      const { pid } = process
      if (pid === undefined) throw new Error(`${program} cannot be started`)
      const [output, errors] = [collect(process.stdout), collect(process.stderr)]
      const exit = once(process, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
      const ended = (): boolean => process.exitCode !== null || process.signalCode !== null
      const child: Child = {
        pid,
        process,
        output,
        errors,
        ended,
        end(signal) {
          if (!ended()) process.kill(signal)
          return exit
        },
      }
      running.add(child)
      return child
    },
    async close() {
      await Promise.all([...running].map((child) => child.end('SIGKILL')))
      running.clear()
    },
  }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}

// What a list of processes shows of the programs that this process starts: arguments and environment, as they were given and as
// /proc has them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface StartedPrograms {
  /** Two texts for each. */
  readonly shown: readonly string[]
  stop(): void
}

interface SpawnMessage {
  process: ChildProcess
  options: { args: readonly string[]; envPairs: readonly string[] }
}

const STARTED = 'tracing:child_process.spawn:start'

export function watchStartedPrograms(): StartedPrograms {
  const shown: string[] = []
  const note = (message: unknown): void => {
    const { process: child, options } = message as SpawnMessage
    shown.push([...options.args, ...options.envPairs].join('\n'))
    child.once('spawn', () => shown.push(`${ofProcess(child.pid, 'cmdline')}${ofProcess(child.pid, 'environ')}`))
  }
  subscribe(STARTED, note)
  return { shown, stop: () => void unsubscribe(STARTED, note) }
}

/** Empty for one that has ended already. */
function ofProcess(pid: number | undefined, file: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', '\n')
  } catch {
    return ''
  }
}

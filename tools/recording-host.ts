// A host that passes everything on to a real one and remembers the answers, so that a recording holds exactly what the
// collectors ask for (written down in the format of lab/hosts/README.md).
import { normalize } from 'node:path'
import type { Host, RunResult } from '#src/kernel/host.ts'
import { parseJson } from '#src/node/untrusted-json.ts'

export interface Recording {
  /** Path to text. */
  files: Map<string, string>
  links: Map<string, string>
  /** Names that were listed in a directory. */
  folders: Map<string, readonly string[]>
  /** Tool to its recorded commands, ready to be written. */
  commands: Map<string, Map<string, object>>
}

export function recordingHost(host: Host): { host: Host; recording: Recording } {
  const recording: Recording = { files: new Map(), links: new Map(), folders: new Map(), commands: new Map() }
  const recorder: Host = {
    ...host,
    async read(path) {
      const text = await host.read(path)
      if (text !== null) recording.files.set(normalize(path), text)
      return text
    },
    async list(path) {
      const names = await host.list(path)
      if (names !== null) recording.folders.set(normalize(path), names)
      return names
    },
    async link(path) {
      const target = await host.link(path)
      if (target !== null) recording.links.set(normalize(path), target)
      return target
    },
    async run(tool, args, options) {
      const result = await host.run(tool, args, options)
      keep(recording, tool, args, result)
      return result
    },
    // A captured host has no sockets: what reads them falls back on commands, which can be recorded.
    socketExchange: () => Promise.resolve({ outcome: 'missing', received: Buffer.alloc(0) }),
    rawSocket: () => Promise.reject(new Error('a recording sends no frames')),
    write: () => Promise.reject(new Error('a recording changes nothing')),
    spawn: () => {
      throw new Error('a recording starts nothing')
    },
  }
  return { host: recorder, recording }
}

/** A tool that is not installed is left out, which is how a captured host knows that it is missing. */
function keep(recording: Recording, tool: string, args: readonly string[], result: RunResult): void {
  const { outcome, exit_code, stdout, stderr } = result
  if (outcome === 'missing') return
  const parsed = /^\s*[[{]/.test(stdout) ? parseJson(stdout) : undefined
  const answer = parsed === undefined ? { stdout } : { stdout_json: parsed }
  const ended = outcome === 'exited' ? { exit_code: exit_code ?? 0 } : { outcome }
  const list = recording.commands.get(tool) ?? new Map<string, object>()
  recording.commands.set(tool, list)
  list.set(JSON.stringify(args), { tool, args, ...ended, ...answer, ...(stderr === '' ? {} : { stderr }) })
}

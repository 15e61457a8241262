/** The stub commands of a captured host: what its agent starts as a process of its own, outside of the recorded answers. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Tool to the path of its stub, as an agent is given them. */
export function writeTools(folder: string, node: string, changes_file: string): Record<string, string> {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true, mode: 0o700 })
  const scripts: Record<string, string> = {
    // The watchdog of a change runs commands that change the network, and asks for a device when one fails.
    ip: `[ "$2" = show ] || echo "$*" >>${quoted(changes_file)}`,
    fio: `exec ${quoted(node)} ${quoted(join(import.meta.dirname, 'fio.ts'))} "$@"`,
  }
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o700)
  }
  return Object.fromEntries(Object.keys(scripts).map((name) => [name, join(bin, name)]))
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

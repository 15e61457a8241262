// Which programs of this machine use a folder: what a test started must be gone with it.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Programs that name the state folder or work in it: the database, the agents, the lab itself. */
export function processesOf(dir: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        const uses = command.includes(dir) || readlinkSync(`/proc/${name}/cwd`).startsWith(dir)
        return uses ? [{ pid: Number(name), command }] : []
      } catch {
        // It ended while we looked.
        return []
      }
    })
}

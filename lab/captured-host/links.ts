/** The network of a captured host after the commands of `ip` that were given: it appears in every later answer. */
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CapturedHost, CommandResult } from './host.ts'
import { applyCommand, type LinkState, mtuOf, newLinkState, type Row, shownRows } from './link-state.ts'

/** Every change that was made, as the arguments of `ip`; the stub command `ip` adds to the same list. */
interface Changes {
  all(): Promise<readonly (readonly string[])[]>
  add(args: readonly string[]): Promise<void>
}

const QUESTIONS = new Set(['-j', '-n'])

/** The same captured host, on which links, addresses and routes can be changed, with the kernel's own rejections. */
export function rememberLinks(host: CapturedHost, changes_file: string | undefined): CapturedHost {
  const changes = changes_file === undefined ? inMemory() : inFile(changes_file)
  let base: Promise<{ rows: Row[]; routes: Row[] }> | undefined
  const recorded = async (...args: string[]): Promise<Row[]> => rowsOf((await host.run('ip', args)).stdout) ?? []
  const state = async (): Promise<LinkState> => {
    base ??= Promise.all([
      recorded('-j', '-d', '-s', '-s', 'addr', 'show'),
      recorded('-j', 'route', 'show', 'default'),
    ]).then(([rows, routes]) => ({ rows, routes }))
    const now = newLinkState(await base)
    // What the stub command could not do on a real machine either changes nothing.
    for (const args of await changes.all()) applyCommand(now, args)
    return now
  }
  const change = async (args: readonly string[]): Promise<CommandResult> => {
    const problem = applyCommand(await state(), args)
    if (problem !== null) return ended(problem.includes('Cannot find') ? 1 : 2, `${problem}\n`)
    await changes.add(args)
    return ended(0, '')
  }
  const answer = async (tool: string, args: readonly string[]): Promise<CommandResult> => {
    if (tool === 'ping') return ping(await state(), args)
    if (tool !== 'ip') return host.run(tool, args)
    if (args.join(' ').endsWith('route flush cache')) return ended(0, '')
    if (!QUESTIONS.has(args[0] ?? '')) return change(args)
    return ask(host, await state(), args)
  }
  return {
    ...host,
    async read(path) {
      const device = /^\/sys\/class\/net\/([^/]+)\/mtu$/.exec(path)?.[1]
      const known = device === undefined ? undefined : mtuOf(await state(), device)
      return known === undefined ? host.read(path) : `${known}\n`
    },
    run: answer,
  }
}

async function ask(host: CapturedHost, state: LinkState, args: readonly string[]): Promise<CommandResult> {
  const line = args.filter((word) => word !== '-j').join(' ')
  const routes = /^(-6 )?route show( default)?$/.exec(line)
  if (routes !== null) {
    const family = routes[1] === undefined ? 4 : 6
    const shown = state.routes.filter((route) => route.family === family).map(({ row }) => row)
    const some = routes[2] === undefined ? shown : shown.filter((row) => row['dst'] === 'default')
    return { ...ended(0, ''), stdout: JSON.stringify(some) }
  }
  const result = await host.run('ip', args)
  const rows = args.includes('link') || args.includes('addr') ? rowsOf(result.stdout) : null
  return rows === null ? result : { ...result, stdout: JSON.stringify(shownRows(state, rows)) }
}

/** Peers answer pings that fit through the device. */
function ping(state: LinkState, args: readonly string[]): CommandResult {
  const room = mtuOf(state, args[args.indexOf('-I') + 1] ?? '') ?? 0
  const size = Number(args[args.indexOf('-s') + 1]) + (args.includes('-6') ? 48 : 28)
  return size <= room ? ended(0, '') : ended(1, `ping: local error: message too long, mtu=${room}\n`)
}

function inMemory(): Changes {
  const all: (readonly string[])[] = []
  return { all: () => Promise.resolve(all), add: (args) => Promise.resolve(void all.push(args)) }
}

/** One command a line: no argument of them has a blank in it. */
function inFile(file: string): Changes {
  return {
    async all() {
      const text = await readFile(file, 'utf8').catch(() => '')
      return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')]))
    },
    async add(args) {
      await mkdir(dirname(file), { recursive: true })
      await appendFile(file, `${args.join(' ')}\n`)
    },
  }
}

function rowsOf(text: string): Row[] | null {
  try {
    const rows: unknown = JSON.parse(text)
    return Array.isArray(rows) ? rows.map((row): Row => ({ ...(row as object) })) : null
  } catch {
    return null
  }
}

function ended(exit_code: number, stderr: string): CommandResult {
  return { outcome: 'exited', exit_code, stdout: '', stderr }
}

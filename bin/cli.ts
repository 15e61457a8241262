#!/usr/bin/env node
// The command `groundplane`: starts one of the other programs, or is the client of the API.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const { HOME, XDG_CACHE_HOME = HOME && join(HOME, '.cache') } = process.env
// Not the default below /tmp: there anybody could lay down compiled code for us to run.
if (XDG_CACHE_HOME) enableCompileCache(join(XDG_CACHE_HOME, 'groundplane', 'compiled'))

const PROGRAMS: Readonly<Record<string, string>> = { control: './control.ts', agent: './agent.ts', lab: './lab.ts' }

const [, , first = ''] = process.argv
const program = Object.hasOwn(PROGRAMS, first) ? PROGRAMS[first] : undefined
if (first === 'complete-names') await offerNames(process.argv[3] ?? '')
else if (program === undefined) await runClient()
else await startProgram(program)

/** The other program sees its own arguments alone, as if it had been started by itself. */
async function startProgram(file: string): Promise<void> {
  const url = new URL(file, import.meta.url)
  process.argv.splice(1, 2, url.pathname)
  await import(url.href)
}

/** As the command of that name, without reading the contract as long as the names are known. */
async function offerNames(what: string): Promise<void> {
  const [{ completeNames }, { default: about }] = await Promise.all([
    import('../cli/name-completion.ts'),
    import('../package.json', { with: { type: 'json' } }),
  ])
  const load = async () => {
    const [{ routeTable }, { areas }, { NAME_ROWS }] = await Promise.all([
      import('../cli/names.ts'),
      import('../src/contract/index.ts'),
      import('../cli/name-rows.ts'),
    ])
    return { routes: routeTable(areas), rows: NAME_ROWS }
  }
  const { env, stdin, stdout, stderr } = process
  const terminal = { args: [], env, stdin, stdout, stderr, interrupted: new AbortController().signal }
  await completeNames({ terminal, version: about.version, what, load })
}

async function runClient(): Promise<void> {
  const [{ runProgram }, { areas }, { default: about }] = await Promise.all([
    import('../cli/program.ts'),
    import('../src/contract/index.ts'),
    import('../package.json', { with: { type: 'json' } }),
  ])
  const interrupt = new AbortController()
  process.once('SIGINT', () => {
    interrupt.abort()
    // A second one ends at once what does not end by itself.
    process.once('SIGINT', () => process.exit(130))
  })
  // A reader that has seen enough (`… | head`) closes the pipe; that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  process.exitCode = await runProgram({
    terminal: {
      args: process.argv.slice(2),
      env: process.env,
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      interrupted: interrupt.signal,
    },
    areas,
    version: about.version,
  })
  // A connection that the other side leaves half open must not keep the program.
  setTimeout(() => process.exit(), 2000).unref()
}

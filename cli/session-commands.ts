// The commands about the person and the service: login, context and status.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { ClientError } from '#src/contract/client.ts'
import { call } from './call.ts'
import { chooseTarget, connect, type Connection, LOOPBACK, serviceUrl, type Target } from './connection.ts'
import { type Context, type Contexts, contextsPath, readContexts, writeContexts } from './contexts.ts'
import { EXIT, NameError, UsageError } from './failures.ts'
import type { RouteTable } from './names.ts'
import { printAnswer, printTable } from './output.ts'
import { isRecord, type Json, textOf } from './records.ts'
import type { Program } from './route-command.ts'
import { addConnectionOptions, addOutputOptions, commonOptions } from './route-options.ts'
import { note, oneLine, printLine, readSecret } from './terminal.ts'

/** Operation that says whose credential this is. */
const WHO = 'callerGet'
const VERSION = 'versionGet'

export function addLogin(root: Command, program: Program): void {
  root
    .command('login')
    .argument('<address>', 'address of the service, such as https://cloud.example.internal')
    .summary('Sign in to a service and remember it')
    .description(
      'Asks for a token unless it is given, checks it, and stores it as a context that becomes the current one.',
    )
    .option('--name <name>', 'name of the context; by default the host of the address')
    .option('--token <token>', 'the token; other processes of this machine can see it here')
    .option('--token-stdin', 'read the token from stdin')
    .option('--ca-file <file>', 'PEM file of a CA to trust for this service')
    .action(async (address: string, options: Record<string, unknown>) => {
      await login(address, options, program)
    })
}

async function login(address: string, options: Record<string, unknown>, program: Program): Promise<void> {
  const { terminal, version, routes } = program
  const url = serviceUrl(address)
  const given = textOf(options.token)
  if (given !== undefined && options.tokenStdin === true)
    throw new UsageError('--token and --token-stdin exclude each other')
  const token = (given ?? (await readSecret(terminal, `Token for ${url.host}: `))).trim()
  // Anything else cannot stand in a header, and is no token but a mistake.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the token is empty or has characters that no token has')
  const ca_file = textOf(options.caFile)
  const target: Target = {
    url,
    token,
    source: 'login',
    ...(ca_file === undefined ? {} : { ca_file: resolve(ca_file) }),
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    note(terminal, `warning: ${url.host} is reached without encryption; everybody on the way can read the token`)
  }
  const route = routes.get(WHO)
  const connection = await connect(target, version, terminal.interrupted)
  const who = route === undefined ? undefined : (await call(connection, route, {})).value
  const path = contextsPath(terminal.env)
  const stored = await readContexts(path)
  const name = textOf(options.name) ?? url.host
  const entry: Context = {
    url: url.href.replace(/\/$/, ''),
    token,
    ...(target.ca_file === undefined ? {} : { ca_file: target.ca_file }),
  }
  await writeContexts(path, { current: name, contexts: new Map([...stored.contexts, [name, entry]]) })
  printLine(
    terminal,
    `signed in to ${url.host}${isRecord(who) ? ` as ${describe(who)}` : ''}; context ${oneLine(name)}`,
  )
}

export function addContextCommands(root: Command, program: Program): void {
  const { terminal } = program
  const path = (): string => contextsPath(terminal.env)
  const group = root
    .command('context')
    .summary('Choose between services')
    .description('The services you are signed in to.')
  group
    .command('list')
    .alias('ls')
    .summary('List contexts')
    .option('--json', 'print as JSON, without tokens')
    .action(async (options: { json?: boolean }) => {
      const { current, contexts } = await readContexts(path())
      const rows = [...contexts].map(([name, { url }]) => ({ name, url, current: name === current }))
      if (options.json === true) return printLine(terminal, JSON.stringify({ contexts: rows }))
      if (rows.length === 0) return note(terminal, '(none)')
      await printTable(
        terminal,
        ['', 'NAME', 'URL'],
        rows.map((row) => [row.current ? '*' : '', oneLine(row.name), oneLine(row.url)]),
      )
    })
  group
    .command('use')
    .argument('<name>', 'context to make the current one')
    .summary('Make context the current one')
    .action(async (name: string) => {
      const stored = await readContexts(path())
      requireContext(stored, name)
      await writeContexts(path(), { ...stored, current: name })
      printLine(terminal, `current context: ${oneLine(name)}`)
    })
  group
    .command('remove')
    .alias('delete')
    .argument('<name>', 'context to forget')
    .summary('Forget context and its token')
    .action(async (name: string) => {
      const stored = await readContexts(path())
      requireContext(stored, name)
      const contexts = new Map(stored.contexts)
      contexts.delete(name)
      await writeContexts(path(), { current: stored.current === name ? undefined : stored.current, contexts })
      printLine(terminal, `forgotten: ${oneLine(name)}; its token stays valid until it is revoked`)
    })
  group
    .command('show')
    .argument('[name]', 'the current one when left out')
    .summary('Show context')
    .action(async (name: string | undefined) => {
      const stored = await readContexts(path())
      const used = name ?? stored.current
      if (used === undefined) throw new NameError('no context is the current one', EXIT.not_found)
      const { url, ca_file } = requireContext(stored, used)
      await printTable(terminal, [], [
        ['name', oneLine(used)], ['url', oneLine(url)], ['token', 'stored'], ['ca_file', ca_file ?? '-'], ['file', path()],
      ]) // biome-ignore format: a table
    })
}

function requireContext({ contexts }: Contexts, name: string): Context {
  const context = contexts.get(name)
  if (context === undefined) throw new NameError(`there is no context "${name}"`, EXIT.not_found)
  return context
}

export function addStatus(root: Command, program: Program): void {
  const command = root
    .command('status')
    .summary('Show who you are, where, and which version')
    .description('Asks the service who the credential belongs to.')
  addOutputOptions(command)
  addConnectionOptions(command)
  command.action(async () => {
    const options = commonOptions(command.optsWithGlobals())
    const { terminal, version, routes } = program
    const target = await chooseTarget(options, terminal.env)
    const route = routes.get(WHO)
    const connection = await connect(target, version, terminal.interrupted)
    const who = route === undefined ? undefined : await whoIs(() => call(connection, route, {}))
    const server = isRecord(who) ? await serverVersion(connection, routes) : undefined
    const value = {
      url: target.url.href.replace(/\/$/, ''),
      source: target.source,
      client_version: version,
      server_version: server ?? null,
      signed_in: isRecord(who),
      ...(isRecord(who) ? who : {}),
    }
    await printAnswer(terminal, { text: JSON.stringify(value), value }, undefined, options)
    if (!isRecord(who)) throw new NameError('not signed in: run "groundplane login URL"', EXIT.forbidden)
  })
}

/** A service older than the question does not answer it. */
async function serverVersion(connection: Connection, routes: RouteTable): Promise<string | undefined> {
  const route = routes.get(VERSION)
  if (route === undefined) return undefined
  try {
    const { value } = await call(connection, route, {})
    return isRecord(value) ? textOf(value.version) : undefined
  } catch (error) {
    if (error instanceof ClientError) return undefined
    throw error
  }
}

/** Undefined when the service does not know the credential. */
async function whoIs(ask: () => Promise<{ value: unknown }>): Promise<unknown> {
  try {
    return (await ask()).value
  } catch (error) {
    if (error instanceof ClientError && error.status === 401) return undefined
    throw error
  }
}

function describe(who: Json): string {
  const name = textOf(who.username) ?? textOf(who.name) ?? 'an unnamed caller'
  const role = textOf(who.role)
  return oneLine(role === undefined ? name : `${name} (${role})`)
}

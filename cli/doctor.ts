// `groundplane doctor`: why does it not work? Connection, clock, token, versions and parts of the service, one after the other.
import type { Command } from 'commander'
import { ClientError, requestOf } from '#src/contract/client.ts'
import { call } from './call.ts'
import { chooseTarget, connect, type Connection } from './connection.ts'
import { EXIT, exitCodeOf, failureLines, NameError } from './failures.ts'
import { printTable } from './output.ts'
import { isRecord, textOf } from './records.ts'
import type { Program } from './route-command.ts'
import { addConnectionOptions, commonOptions } from './route-options.ts'
import { oneLine, printLine } from './terminal.ts'

interface Finding {
  check: string
  result: 'ok' | 'warning' | 'failed'
  detail: string
}

const TIMEOUT_MS = 10_000
/** Signed requests between nodes and service bear five minutes. */
const CLOCK_LIMIT_S = 60

export function addDoctor(root: Command, program: Program): void {
  const command = root
    .command('doctor')
    .summary('Check connection, clock, token and versions')
    .description(
      'Checks, one after the other, what a command needs: address, connection, clock, token, versions, service.',
    )
    .option('--json', 'print as JSON')
  addConnectionOptions(command)
  command.action(async () => {
    const options = commonOptions(command.optsWithGlobals())
    const { terminal } = program
    const { findings, exit_code } = await examine(options, program)
    if (options.json) printLine(terminal, JSON.stringify({ findings }))
    else {
      const rows = findings.map(({ check, result, detail }) => [check, result, oneLine(detail)])
      await printTable(terminal, ['CHECK', 'RESULT', 'DETAIL'], rows)
    }
    const failed = findings.filter(({ result }) => result === 'failed').map(({ check }) => check)
    if (failed.length > 0) throw new NameError(`failed: ${failed.join(', ')}`, exit_code)
  })
}

type Options = Pick<ReturnType<typeof commonOptions>, 'url' | 'token' | 'context'>

async function examine(options: Options, program: Program): Promise<{ findings: Finding[]; exit_code: number }> {
  const findings: Finding[] = []
  let exit_code: number = EXIT.failed
  const add = (check: string, result: Finding['result'], detail: string): void =>
    void findings.push({ check, result, detail })
  /** What is checked after a failure would only fail for the same reason. */
  const step = async (check: string, run: () => Promise<void>): Promise<boolean> => {
    try {
      await run()
    } catch (error) {
      const [line = ''] = failureLines(error)
      add(check, 'failed', line.replace(/^error: /, ''))
      exit_code = exitCodeOf(error)
    }
    return findings.at(-1)?.result !== 'failed'
  }
  let connection: Connection | undefined
  const found = await step('address', async () => {
    const target = await chooseTarget(options, program.terminal.env)
    connection = await connect(target, program.version, program.terminal.interrupted)
    add('address', 'ok', `${target.url.href.replace(/\/$/, '')}, from ${target.source}`)
  })
  if (!found || connection === undefined) return { findings, exit_code }
  const to = connection
  const reached = await step('connection', () => checkConnection(to, program, add))
  if (!reached) return { findings, exit_code }
  await step('token', () => checkToken(to, program, add))
  await step('versions', () => checkVersions(to, program, add))
  await step('service', () => checkService(to, program, add))
  return { findings, exit_code }
}

type Add = (check: string, result: Finding['result'], detail: string) => void

async function checkConnection(connection: Connection, { routes }: Program, add: Add): Promise<void> {
  const route = routes.get('healthGet')
  if (route === undefined) return
  const sent = Date.now()
  const response = await connection.send(requestOf(route, {}, {}), { timeout_ms: TIMEOUT_MS })
  await response.text()
  const came = Date.now()
  const proxied = response.status === 200 ? '' : `; something answers /healthz with status ${response.status}`
  add('connection', proxied === '' ? 'ok' : 'failed', `answers in ${came - sent} ms${proxied}`)
  const there = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(there)) return add('clock', 'warning', 'the service does not say what time it is')
  // The service says whole seconds, and the moment of its answer lies between the two of ours.
  const seconds = Math.round((there + 500 - (sent + came) / 2) / 1000)
  const apart = Math.abs(seconds)
  const words = apart <= 1 ? 'same time' : `the service is ${apart} s ${seconds > 0 ? 'ahead' : 'behind'}`
  add('clock', apart > CLOCK_LIMIT_S ? 'warning' : 'ok', words)
}

async function checkToken(connection: Connection, { routes }: Program, add: Add): Promise<void> {
  if (connection.target.token === undefined)
    return add('token', 'failed', 'none is given: run "groundplane login URL" or set GROUNDPLANE_TOKEN')
  const route = routes.get('callerGet')
  if (route === undefined) return
  const { value } = await call(connection, route, {}, { timeout_ms: TIMEOUT_MS })
  const who = isRecord(value) ? value : {}
  const tenant = textOf(who.tenant_id) === undefined ? '' : `, tenant ${String(who.tenant_id)}`
  const until = textOf(who.expires_at) === undefined ? 'never expires' : `expires ${String(who.expires_at)}`
  add(
    'token',
    'ok',
    `${textOf(who.username) ?? 'a caller without a name'} (${textOf(who.role) ?? 'no role'}${tenant}), ${until}`,
  )
}

async function checkVersions(connection: Connection, { routes, version }: Program, add: Add): Promise<void> {
  const route = routes.get('versionGet')
  if (route === undefined) return
  const { value } = await call(connection, route, {}, { timeout_ms: TIMEOUT_MS }).catch((error: unknown) => {
    // Without a valid token nobody says; that is told above.
    if (error instanceof ClientError && [401, 403].includes(error.status)) return { value: undefined }
    throw error
  })
  const theirs = isRecord(value) ? textOf(value.version) : undefined
  if (theirs === undefined)
    return add('versions', 'warning', `this program ${version}; the service does not say its own`)
  const same = theirs === version
  add('versions', same ? 'ok' : 'warning', same ? version : `this program ${version}, the service ${theirs}`)
}

async function checkService(connection: Connection, { routes }: Program, add: Add): Promise<void> {
  const route = routes.get('readinessGet')
  if (route === undefined) return
  const { value } = await call(connection, route, {}, { timeout_ms: TIMEOUT_MS })
  const checks = isRecord(value) && Array.isArray(value.checks) ? value.checks.filter(isRecord) : []
  const bad = checks.filter(({ ok }) => ok !== true)
  for (const { name, detail } of bad) add('service', 'warning', `${String(name)}: ${String(detail)}`)
  if (bad.length === 0) add('service', 'ok', `ready; ${checks.map(({ name }) => String(name)).join(', ')}`)
}

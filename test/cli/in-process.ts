// Runs the command line within the test: the same program, without the start of a process, which takes longer than most commands.
import { PassThrough, Readable } from 'node:stream'
import { runProgram } from '../../cli/program.ts'
import { areas } from '#src/contract/index.ts'
import type { CliOptions, CliResult } from './cli-process.ts'
import { sampleAreas } from './sample-areas.ts'

// Times are shown as of where the caller is.
process.env['TZ'] = 'UTC'

/** Over the whole contract. */
export function runHere(
  service: { url: string; token: string },
  args: readonly string[],
  stdin?: string,
): Promise<CliResult> {
  const env = { GROUNDPLANE_URL: service.url, GROUNDPLANE_TOKEN: service.token }
  return run(args, areas, { env, ...(stdin === undefined ? {} : { stdin }) })
}

/** Over the sample areas. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return run(args, sampleAreas, options)
}

/** With the address and token of a service, as `GROUNDPLANE_URL` and `GROUNDPLANE_TOKEN` give them. */
export function runAt(url: string, args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(args, { ...options, env: { GROUNDPLANE_URL: url, GROUNDPLANE_TOKEN: 'gp_test', ...options.env } })
}

async function run(
  args: readonly string[],
  of: typeof areas,
  { config_home = '/nonexistent', env, stdin }: CliOptions,
): Promise<CliResult> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const [written, complained] = [collected(stdout), collected(stderr)]
  const code = await runProgram({
    terminal: {
      args,
      env: { XDG_CONFIG_HOME: config_home, ...env },
      stdin: Readable.from(stdin === undefined ? [] : [stdin]),
      stdout,
      stderr,
      interrupted: new AbortController().signal,
    },
    areas: of,
    version: '0.0.1',
  })
  stdout.end()
  stderr.end()
  return { code, stdout: await written, stderr: await complained }
}

async function collected(stream: PassThrough): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

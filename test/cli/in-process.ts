// Runs the command line within the test: the same program over the whole contract, without the start of a process.
import { PassThrough, Readable } from 'node:stream'
import { runProgram } from '../../cli/program.ts'
import { areas } from '#src/contract/index.ts'
import type { CliResult } from './cli-process.ts'

export async function runHere(service: { url: string; token: string }, args: readonly string[]): Promise<CliResult> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const code = await runProgram({
    terminal: {
      args,
      env: { GROUNDPLANE_URL: service.url, GROUNDPLANE_TOKEN: service.token, XDG_CONFIG_HOME: '/nonexistent' },
      stdin: Readable.from([]),
      stdout,
      stderr,
      interrupted: new AbortController().signal,
    },
    areas,
    version: '0',
  })
  return { code, stdout: written(stdout), stderr: written(stderr) }
}

function written(stream: PassThrough): string {
  const bytes: unknown = stream.read()
  return bytes instanceof Buffer ? bytes.toString() : ''
}

// The command line over the sample areas, as a program of its own: tests start it as a child process.
import { runProgram } from '../../cli/program.ts'
import { sampleAreas } from './sample-areas.ts'

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
process.exitCode = await runProgram({
  terminal: {
    args: process.argv.slice(2),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupted: interrupt.signal,
  },
  areas: sampleAreas,
  version: '0.0.1',
})
setTimeout(() => process.exit(), 2000).unref()

// `groundplane agent --config FILE`: the agent of a node. `--join URL --token T` makes it enrol first.
import { readFileSync } from 'node:fs'
import { linuxHost } from '#src/kernel/host.ts'
import { hostOptionsOf } from '#src/node/config.ts'
import { loadAgentConfig } from './agent-config.ts'
import { readArguments } from './arguments.ts'
import { startAgent, stopWithProcess } from './agent-program.ts'
import { releaseStartUpMemory } from './memory.ts'

const USAGE = 'Usage: groundplane agent --config FILE [--join URL] [--token-file FILE] [--state DIR]'

const { values } = readArguments(USAGE, {
  options: {
    config: { type: 'string', short: 'c' },
    join: { type: 'string' },
    token: { type: 'string' },
    'token-file': { type: 'string' },
    state: { type: 'string' },
  },
})

try {
  const config = loadAgentConfig(values.config, { control_url: values.join, state_dir: values.state })
  stopWithProcess(await startAgent(config, linuxHost(hostOptionsOf(config.node)), enrolmentToken()))
  releaseStartUpMemory()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** A file or the environment keeps the token out of the process list. */
function enrolmentToken(): string | undefined {
  const file = values['token-file']
  if (file !== undefined) return readFileSync(file, 'utf8').trim()
  return values.token ?? process.env.GROUNDPLANE_ENROLMENT_TOKEN
}

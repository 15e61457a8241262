// `groundplane agent --config FILE`: the agent of a node. `--join URL --token T` makes it join first.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import { loadAgentConfig } from './agent-config.ts'
import { startAgent } from './agent-program.ts'
import { releaseStartUpMemory } from './memory.ts'

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c' },
    join: { type: 'string' },
    token: { type: 'string' },
    'token-file': { type: 'string' },
    state: { type: 'string' },
    'exit-with-parent': { type: 'boolean', default: false },
  },
})

try {
  const config = loadAgentConfig(values.config, { control_url: values.join, state_dir: values.state })
  const agent = await startAgent(config, joinToken())
  releaseStartUpMemory()
  const stopping = closeWithGrace({ delay: 15_000, logger: false }, async ({ err }) => {
    if (err !== undefined) agent.log.error({ err }, 'stopping after an error that nobody caught')
    await agent.close()
  })
  // Whoever started it holds the other end of its standard input.
  if (values['exit-with-parent']) process.stdin.once('close', () => stopping.close()).resume()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** A file or the environment keeps the token out of the process list. */
function joinToken(): string | undefined {
  const file = values['token-file']
  if (file !== undefined) return readFileSync(file, 'utf8').trim()
  return values.token ?? process.env.GROUNDPLANE_ENROLMENT_TOKEN
}

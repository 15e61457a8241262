// One agent of the lab: the agent as it is, on a captured host instead of this machine.
import { enableCompileCache } from 'node:module'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    config: { type: 'string', default: '' },
    'captured-host': { type: 'string', default: '' },
    'changes-file': { type: 'string', default: '' },
    'machine-file': { type: 'string', default: '' },
    'compile-cache': { type: 'string' },
  },
})
if (values['compile-cache'] !== undefined) enableCompileCache(values['compile-cache'])

try {
  const [{ loadAgentConfig }, { startAgent, stopWithProcess }, { capturedHost }] = await Promise.all([
    import('./agent-config.ts'),
    import('./agent-program.ts'),
    import('../lab/captured-host/host.ts'),
  ])
  const host = capturedHost(values['captured-host'], {
    changes_file: values['changes-file'],
    machine_file: values['machine-file'],
  })
  const agent = await startAgent(loadAgentConfig(values.config, {}), host, process.env.GROUNDPLANE_ENROLMENT_TOKEN)
  const stopping = stopWithProcess(agent)
  // The lab holds the other end of the standard input: it ends with the lab, however the lab ends.
  process.stdin.once('close', () => stopping.close()).resume()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

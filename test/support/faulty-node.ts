// A node of the lab in this process: the real agent on a captured host, which a test may give faults.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAgentConfig } from '../../bin/agent-config.ts'
import { type AgentProgram, startAgent } from '../../bin/agent-program.ts'
import { type CapturedHost, capturedHost, capturedNetwork } from '../../lab/captured-host/host.ts'
import { enrolmentToken, registerNode } from './fake-agent.ts'
import type { Lab } from './start-lab.ts'

/** What such a machine answers instead. */
export type Fault = (host: CapturedHost) => Partial<CapturedHost>

export interface FaultyNode {
  /** Starts the agent again, so that it reads everything of its machine at once, with these faults alone. */
  restart(faults: readonly Fault[]): Promise<void>
  close(): Promise<void>
}

/** The output of commands that begin with these words, changed; a text that is not found is a mistake of the test. */
export function output(start: string, edit: (stdout: string) => string): Fault {
  return ({ run }) => ({
    async run(tool, args) {
      const result = await run(tool, args)
      if (!`${tool} ${args.join(' ')}`.startsWith(start)) return result
      const stdout = edit(result.stdout)
      if (stdout === result.stdout) throw new Error(`the fault changes nothing in the output of ${start}`)
      return { ...result, stdout }
    },
  })
}

/** The command fails as it does when its daemon does not run. */
export function fails(start: string, stdout: string): Fault {
  return ({ run }) => ({
    run: async (tool, args) =>
      `${tool} ${args.join(' ')}`.startsWith(start)
        ? { outcome: 'exited', exit_code: 1, stdout, stderr: '' }
        : run(tool, args),
  })
}

export async function startFaultyNode(lab: Lab, name: string, bmc_ip: string): Promise<FaultyNode> {
  const captured = join(import.meta.dirname, '../../lab/hosts', name)
  const state_dir = join(lab.data_dir, `faulty-${name}`)
  mkdirSync(join(state_dir, 'root'), { recursive: true })
  const file = join(state_dir, 'agent.json')
  const config = {
    listen: { host: '127.0.0.1', port: 0 },
    advertise_address: '127.0.0.1',
    control_url: lab.url,
    state_dir,
    node: { net: capturedNetwork(captured), root: join(state_dir, 'root') },
    log: { level: 'error' },
  }
  writeFileSync(file, JSON.stringify(config))
  const start = (faults: readonly Fault[], token?: string): Promise<AgentProgram> => {
    const host = faults.reduce<CapturedHost>((one, fault) => ({ ...one, ...fault(one) }), capturedHost(captured))
    return startAgent(loadAgentConfig(file, {}), host, token)
  }
  await registerNode(lab, bmc_ip, { role: 'compute' })
  let agent = await start([], await enrolmentToken(lab, bmc_ip))
  return {
    async restart(faults) {
      await agent.close()
      agent = await start(faults)
    },
    close: () => agent.close(),
  }
}

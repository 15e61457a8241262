// The lab's agents on captured hosts, enrolled at the control plane of a test.
import { join } from 'node:path'
import { type LabAgents, startLabAgents } from '../../lab/agents.ts'
import type { Lab } from './start-lab.ts'

/** Waits until all have enrolled. `hosts`: these alone. */
export async function startEnrolledAgents(lab: Lab, hosts?: string[]): Promise<LabAgents> {
  const { url, token } = lab
  const state_dir = join(lab.data_dir, 'agents')
  const chosen = hosts === undefined ? {} : { hosts }
  const agents = await startLabAgents({ url, token, state_dir, node: process.execPath, log: () => {}, ...chosen })
  try {
    await agents.ready()
  } catch (error) {
    await agents.close()
    throw error
  }
  return agents
}

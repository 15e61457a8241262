// A step of a setup that is one document of the agent.
import type { DesiredDocuments } from '#src/contract/nodes/agent-desired.ts'
import type { Step } from '#src/jobs/define.ts'
import { applyDesired, desiredHolds, type DesiredTarget } from '../desired.ts'
import type { SetupDeps, SetupInput, SetupRun, SetupState } from './input.ts'
import { nodeOf } from './machine.ts'

export type SetupStep = Step<SetupDeps, SetupInput, SetupState>

export function area<A extends keyof DesiredDocuments>(
  name: A,
  documentOf: (run: SetupRun) => Promise<DesiredDocuments[A] | null>,
): Required<Pick<SetupStep, 'holds' | 'run'>> {
  const target = (run: SetupRun): DesiredTarget => ({ agents: run.deps.agents, node: () => nodeOf(run) })
  return {
    holds: async (run) => {
      const document = await documentOf(run)
      return document === null || (await desiredHolds(target(run), run, name, document))
    },
    run: async (run) => {
      const document = await documentOf(run)
      if (document !== null) await applyDesired(target(run), run, name, document)
      await run.note('INFO', `The area ${name} of the node is as ordered.`)
    },
  }
}

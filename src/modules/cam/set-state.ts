// What jobs of the NVR say about it while they run.
import type { Run } from '#src/jobs/define.ts'
import type { CamStore, NvrState } from '#src/store/cam-instance.ts'

type StateRun = Pick<
  Run<{ cam_store: Pick<CamStore, 'changeIn'> }, { instance_id: string }>,
  'deps' | 'input' | 'fenced'
>

export function setState(run: StateRun, state: NvrState): Promise<void> {
  const { instance_id } = run.input
  return run.fenced(
    async (trx, publish) => void (await run.deps.cam_store.changeIn(trx, publish, instance_id, { state })),
  )
}

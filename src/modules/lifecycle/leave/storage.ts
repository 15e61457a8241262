// Steps at the distributed store. A node that served it at admission never skips them: a store that falls silent is no reason to
// believe that its data is elsewhere.
import { ApiError } from '#src/kernel/errors.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import type { LeaveStep } from './run.ts'

const NOT_SERVED = 'No daemon of a distributed store is known to run on the node.'

function requiresStore(name: 'storage-drain' | 'storage-remove'): LeaveStep {
  return {
    name,
    title: TITLES[name],
    applies: ({ input }) => (input.store_served ? true : NOT_SERVED),
    run: async () => {
      throw new ApiError(
        'NODE_STATE',
        'The node serves a distributed store, and this version cannot move its data away. Remove its daemons from the store by hand, then repeat the preflight.',
      )
    },
    retries: 0,
  }
}

export const storageDrain = requiresStore('storage-drain')
export const storageRemove = requiresStore('storage-remove')

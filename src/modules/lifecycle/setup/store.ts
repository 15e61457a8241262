// The node as a client of the distributed store: a key of its own, and the monitors that it asks.
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { StorageDocument } from '#src/contract/nodes/desired-documents.ts'
import { storeClientOf } from '../store-client.ts'
import { area, type SetupStep } from './area-step.ts'
import type { SetupRun } from './input.ts'

export function hasStore({ deps, input }: SetupRun): string | true {
  if (deps.ceph === undefined) return 'no distributed store is configured (ceph.conf)'
  return input.role === 'compute' || 'a management node is no hypervisor'
}

const storage = area('storage', documentOf)

/** Verified from the node: its area differs until the store answers to its key. */
export const connectStore: Required<Pick<SetupStep, 'holds' | 'run'>> = {
  holds: async (run) => {
    const known = await storeOf(run).clientKey(storeClientOf(run.input), { signal: run.signal })
    return known !== undefined && (await storage.holds(run)) === true
  },
  run: async (run) => {
    await storeOf(run).makeClient(storeClientOf(run.input), { signal: run.signal })
    await storage.run(run)
  },
}

/** The key is read where it is, and written nowhere but on the node. Null: there is none. */
async function documentOf(run: SetupRun): Promise<StorageDocument | null> {
  const store = storeOf(run)
  const client = storeClientOf(run.input)
  const key = await store.clientKey(client, { signal: run.signal })
  if (key === undefined) return null
  const { fsid, addresses } = await store.monitors({ signal: run.signal })
  return { packages: run.deps.setup.storage_packages, fsid, monitors: [...addresses], client, key }
}

function storeOf({ deps }: SetupRun): Ceph {
  // Its step applies only where one is configured.
  if (deps.ceph === undefined) throw new Error('no distributed store is configured')
  return deps.ceph
}

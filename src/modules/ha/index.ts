// High availability: what failover daemons report, who belongs to the cluster, the keys of peers, and who holds the addresses.
import { join } from 'node:path'
import { ha } from '#src/contract/ha/ha.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { failoverScripts } from '#src/kernel/failover-scripts.ts'
import { recordChange } from '#src/store/app-events.ts'
import { listHaEvents } from '#src/store/ha-events.ts'
import { type Module, type Parts, serve } from '../module.ts'
import type { HaDeps } from './deps.ts'
import { ingestEvent } from './events.ts'
import { createFilesync } from './filesync.ts'
import { memberHandlers } from './members.ts'
import { createMemberIdentity, createPeerCalls } from './peer-calls.ts'
import { createLocalRounds } from './local-rounds.ts'
import { createVipWatcher } from './vip-watcher.ts'

export function haModule(parts: Parts): Module {
  const { address = '', port } = parts.config.ha
  const deps: HaDeps = {
    ...parts,
    peers: createPeerCalls(createMemberIdentity(parts.ca, address), port),
    ha_dir: join(parts.config.data_dir, 'ha'),
  }
  const filesync = createFilesync(deps)
  const { db } = parts.database
  const routes = serve(ha, {
    haEventIngest: ({ body }, ctx) => ingestEvent(deps, ctx, body),
    haConfigUpdate: (_input, ctx) =>
      recordChange(deps, ctx, { resource_type: 'HA', description: 'Synchronise keys of peers' }, () => filesync.sync()),
    haScriptGet({ params: { name } }) {
      const script = failoverScripts().find((one) => one.name === name)
      if (script === undefined) throw new ApiError('HA_SCRIPT_NOT_FOUND', `No managed script is called ${name}.`)
      return { media_type: 'text/plain; charset=utf-8', body: script.content }
    },
    haFilesyncKeyGet: () => filesync.ownKey(),
    haEventList: async ({ query: { limit = 100, ...filter } }) => ({
      events: await listHaEvents(db, { ...filter, limit }),
    }),
    ...memberHandlers(deps),
  })
  return { areas: [routes], watchers: [createLocalRounds(deps, filesync), createVipWatcher(deps)] }
}

// What every management node does for itself, round by round: it takes what waits in its spool, and the keys of new peers.
import { haMembers } from '#src/store/ha-members.ts'
import type { Watcher } from '../module.ts'
import type { HaDeps } from './deps.ts'
import type { Filesync } from './filesync.ts'
import { drainSpool, writeCallback } from './spool.ts'

export function createLocalRounds(deps: HaDeps, filesync: Filesync): Watcher {
  const { background, config, log } = deps
  const ending = new AbortController()
  const running: Promise<void>[] = []
  return {
    start() {
      writeCallback(deps).catch((err: unknown) => log.warn({ err }, 'the notify script cannot call this replica'))
      const { check_ms } = config.ha
      running.push(background.repeat('ha-spool', check_ms, ending.signal, () => drainSpool(deps)))
      if (config.ha.address === undefined) return
      running.push(background.repeat('ha-keys', check_ms, ending.signal, createKeyRound(deps, filesync)))
    },
    async stop() {
      ending.abort()
      await Promise.all(running)
    },
  }
}

/** Peers tell of a change, but one that was away then has to see it by itself; and who did not answer is asked again. */
function createKeyRound({ database, log }: HaDeps, filesync: Filesync): () => Promise<void> {
  let done: string | undefined
  return async () => {
    const wanted = (await haMembers(database.db))
      .map(({ address }) => address)
      .sort()
      .join(' ')
    if (wanted === done) return
    const { unreachable } = await filesync.sync()
    if (unreachable.length === 0) done = wanted
    else log.info({ unreachable }, 'keys of peers are still missing')
  }
}

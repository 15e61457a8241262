// The keys by which members copy files to each other: after a change of the list every member is told to fetch them.
import { haMembers } from '#src/store/ha-members.ts'
import type { ClusterRun } from './ports.ts'

/** Who does not answer sees the new list by itself with its next check. Answers those. */
export async function syncKeys({ deps, note }: Pick<ClusterRun, 'deps' | 'note'>): Promise<string[]> {
  const members = await haMembers(deps.database.db)
  const silent: string[] = []
  for (const { address } of members) {
    await deps.cluster.peers.call(address, 'POST', '/internal/haconfig/update').catch(async (error: unknown) => {
      silent.push(address)
      await note('WARN', `Member ${address} was not told of the new list.`, { reason: String(error) })
    })
  }
  return silent
}

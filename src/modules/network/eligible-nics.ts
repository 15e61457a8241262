// NICs of all nodes that a guest network can be put on: each node's own answer, page by page.
import { pageOf } from '#src/contract/common.ts'
import type { eligibleNics } from '#src/contract/network/eligible-nics.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { configuredNodesAfter } from '#src/store/nodes.ts'
import type { FleetQuestions } from './node-questions.ts'

export interface EligibleNicDeps {
  database: Pick<Database, 'db'>
  ask: Pick<FleetQuestions, 'usable_nics' | 'all_nics'>
}

export function eligibleNicHandlers({
  database,
  ask,
}: EligibleNicDeps): Handlers<typeof eligibleNics.routes, RequestContext> {
  return {
    async eligibleNicsList({ body }) {
      const { page_size } = pageOf(body)
      const { rows, ...paging } = await configuredNodesAfter(database.db, body?.after_id ?? 0, page_size)
      const question = body?.include_all === true ? ask.all_nics : ask.usable_nics
      const outcomes = await question(rows)
      const nodes = outcomes.map((outcome) => {
        const interfaces = 'value' in outcome ? outcome.value.interfaces : []
        return {
          fqdn: outcome.node.fqdn,
          node_ip: outcome.node.node_ip,
          error: 'value' in outcome ? null : outcome.error,
          nic_count: 'value' in outcome ? interfaces.length : null,
          interfaces,
        }
      })
      return { ...paging, page_size, nodes }
    },
  }
}

// Takes in the leases of the DHCP server: history, first sight and peaks come from here, because servers forget a lease
// when it ends.
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { Database } from '#src/store/database.ts'
import { noteLeases } from '#src/store/dhcp-leases.ts'
import { notePeak } from '#src/store/dhcp-orders.ts'
import { countsOf } from './views.ts'

export async function collectLeases(
  { server, database }: { server: DhcpServer; database: Database },
  signal?: AbortSignal,
): Promise<void> {
  const { scopes, leases, reservations } = await server.state(undefined, signal)
  const names = scopes.map((scope) => scope.name)
  await database.transact((trx) => noteLeases(trx, leases, names))
  for (const scope of scopes) {
    const of_scope = ({ scope: name }: { scope: string }): boolean => name === scope.name
    const own = { leases: leases.filter(of_scope), reservations: reservations.filter(of_scope) }
    await notePeak(database.db, scope.name, countsOf(scope, own).utilization)
  }
}

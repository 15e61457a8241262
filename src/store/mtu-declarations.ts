// The declared MTU of each role, for all nodes.
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type MtuRoleName = Tables['mtu_declaration']['role']

export interface MtuDeclarationRow {
  role: MtuRoleName
  mtu: number
  bridges: string[]
}

export function declaredMtus(db: Db): Promise<MtuDeclarationRow[]> {
  return db.selectFrom('mtu_declaration').select(['role', 'mtu', 'bridges']).orderBy('role').execute()
}

export async function declaredMtuByDevice(db: Db): Promise<Record<string, number>> {
  const rows = await declaredMtus(db)
  return Object.fromEntries(rows.flatMap(({ bridges, mtu }) => bridges.map((bridge) => [bridge, mtu] as const)))
}

export async function declareMtu(trx: Trx, declared: MtuDeclarationRow, declared_by: string): Promise<void> {
  const bridges = JSON.stringify(declared.bridges)
  await trx
    .insertInto('mtu_declaration')
    .values({ role: declared.role, mtu: declared.mtu, bridges, declared_by })
    .onConflict((conflict) =>
      conflict.column('role').doUpdateSet({ mtu: declared.mtu, bridges, declared_by, declared_at: new Date() }),
    )
    .execute()
}

/** Brings one role back to what was declared before; null: nothing was. */
export async function restoreDeclaration(
  trx: Trx,
  role: MtuRoleName,
  before: MtuDeclarationRow | null,
  declared_by: string,
): Promise<void> {
  if (before !== null) return declareMtu(trx, before, declared_by)
  await trx.deleteFrom('mtu_declaration').where('role', '=', role).execute()
}

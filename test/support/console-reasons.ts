// The console's own answer to "why can this not be called now", in Node: what its build puts in for the contract is put in here.
import { registerHooks } from 'node:module'
import { contractTable } from '#src/modules/console/contract-table.ts'

export interface Me {
  username: string
  role: 'viewer' | 'operator' | 'admin'
  tenant_id: string | null
  expires_at: string | null
}
export type WhyNot = (
  me: Me,
  operation: string,
  thing?: { state: string; pending_job_id: string | null },
) => string | null

const MODULE = new URL('../../src/console/api/why-not.ts', import.meta.url).href
const TABLE = 'contract:table'

export async function consoleReasons(): Promise<WhyNot> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === TABLE ? { url: TABLE, format: 'module', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) =>
      url === TABLE
        ? { format: 'module', source: `export default ${JSON.stringify(contractTable())}`, shortCircuit: true }
        : next(url, context),
  })
  try {
    const { whyNot } = (await import(MODULE)) as { whyNot: WhyNot }
    return whyNot
  } finally {
    hooks.deregister()
  }
}

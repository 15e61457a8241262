// What every operation on a BMC begins with: which BMC, and in whose name.
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { Database } from '#src/store/database.ts'
import type { BmcAccess, BmcOrder } from '../bmc-access.ts'
import type { Config } from '#src/kernel/config.ts'
import type { Log } from '#src/kernel/log.ts'

export interface BmcDeps {
  bmcs: BmcAccess
  database: Database
  replica_id: string
  jobs: Jobs
  config: Config
  log: Log
  /** The port listened on. */
  listening: () => number | undefined
}

/** Credentials in a request could be used to try passwords, so they are for admins alone. */
export function orderOf(
  body: { bmc_ip: string; username?: string; password?: string },
  { caller }: RequestContext,
): BmcOrder {
  const bmc_ip = addressOf('body.bmc_ip', body.bmc_ip)
  const { username, password } = body
  const by = caller.username
  if (username === undefined && password === undefined) return { bmc_ip, by }
  if (username === undefined || password === undefined) {
    throw invalidField(username === undefined ? 'body.username' : 'body.password', 'username and password go together')
  }
  if (caller.role !== 'admin') {
    throw new ApiError(
      'FORBIDDEN',
      'Credentials in a request need the role admin; leave them out to use the stored ones.',
    )
  }
  return { bmc_ip, username, password, by }
}

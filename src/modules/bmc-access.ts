// BMCs and remote KVMs as every area reaches them: by address, with the credentials, certificate and port of its record. What can be asked of one
// are the plain functions of src/drivers/redfish: readPower, sendReset, bootSlot, insertMedia, setBootOnce, readInventory.
import { readFileSync } from 'node:fs'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import type { KvmClient } from '#src/drivers/pikvm/client.ts'
import { createPikvm } from '#src/drivers/pikvm/connections.ts'
import { createRedfish, type Redfish } from '#src/drivers/redfish/connections.ts'
import type { TlsPolicy } from '#src/drivers/pinned-tls.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Log } from '#src/kernel/log.ts'
import { type BmcRow, findBmc, pinFirst } from '#src/store/bmcs.ts'
import type { Database } from '#src/store/database.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'

/** Which BMC, in whose name, and with which credentials instead of the stored ones. */
export interface BmcOrder {
  bmc_ip: string
  username?: string
  password?: string
  /** Of a certificate that is met for the first time, it is remembered who met it. */
  by: string
}

export interface BmcAccess {
  /** Throws when the address is not allowed or there are no credentials. Nothing is sent yet. */
  open(order: BmcOrder): Promise<Bmc>
  /** The same for a remote KVM, which has a record like a BMC. */
  openKvm(order: Pick<BmcOrder, 'bmc_ip' | 'by'>): Promise<KvmClient>
  /** After the record changed: connections end, and secrets that were refused may be tried again. */
  drop(bmc_ip: string): void
  /** Its record; undefined without one. */
  find(bmc_ip: string): Promise<BmcRow | undefined>
  readonly redfish: Redfish
  readonly default_port: number
  close(): Promise<void>
}

export interface BmcAccessOptions {
  config: Config['bmc']
  database: Database
  keyring: Keyring
  log: Log
  observe?: (operation: string, seconds: number, outcome: string) => void
  observeKvm?: (operation: string, seconds: number, outcome: string) => void
}

const RETRY_MS = 2000

export function createBmcAccess(options: BmcAccessOptions): BmcAccess {
  const { config, database, keyring, log, observe, observeKvm } = options
  const { allowed_networks, timeout_ms, follow_ms, port } = config
  const retry_ms = Math.min(RETRY_MS, follow_ms)
  const redfish = createRedfish({
    allowed_networks,
    timeout_ms,
    retry_ms,
    log,
    ...(observe === undefined ? {} : { observe }),
  })
  const pikvm = createPikvm({ allowed_networks, timeout_ms, retry_ms, observe: observeKvm })
  const policyOf = (row: BmcRow | undefined, { bmc_ip, by }: BmcOrder): TlsPolicy => {
    const mode = row?.tls_mode ?? 'pin'
    if (mode === 'pin') return { mode, pin: (seen) => pinFirst(database.db, bmc_ip, seen, by) }
    if (mode === 'ca') return { mode, ca: caBundle(config.ca_file, bmc_ip) }
    if (config.insecure_allowed) {
      log.warn({ bmc_ip }, 'bmc is contacted without a check of its certificate')
      return { mode }
    }
    throw new ApiError(
      'BMC_NOT_CONFIGURED',
      `The record of BMC ${bmc_ip} wants no check of its certificate, which bmc.insecure_allowed does not allow.`,
    )
  }
  return {
    redfish,
    default_port: port,
    find: (bmc_ip) => findBmc(database.db, bmc_ip),
    async open(order) {
      redfish.requireAllowed(order.bmc_ip)
      const row = await findBmc(database.db, order.bmc_ip)
      const tls = policyOf(row, order)
      const credentials = givenCredentials(order) ?? storedCredentials(row, keyring)
      if (credentials === undefined) {
        throw new ApiError(
          'BMC_CREDENTIALS_NOT_FOUND',
          `No credentials of BMC ${order.bmc_ip} are stored; put its record, or give username and password.`,
        )
      }
      const { bmc_ip } = order
      return redfish.open({ bmc_ip, port: row?.port ?? port, tls, system_id: row?.system_id ?? null, credentials })
    },
    async openKvm(order) {
      const { bmc_ip } = order
      pikvm.requireAllowed(bmc_ip)
      const row = await findBmc(database.db, bmc_ip)
      const credentials = storedCredentials(row, keyring)
      if (credentials === undefined) {
        throw new ApiError(
          'KVM_CREDENTIALS_NOT_FOUND',
          `No credentials of KVM ${bmc_ip} are stored; put its record at /vendora-inventory/bmcs/${bmc_ip}.`,
        )
      }
      return pikvm.open({ kvm_ip: bmc_ip, port: row?.port ?? port, tls: policyOf(row, order), credentials })
    },
    drop(bmc_ip) {
      redfish.drop(bmc_ip)
      pikvm.drop(bmc_ip)
    },
    async close() {
      await Promise.all([redfish.close(), pikvm.close()])
    },
  }
}

function givenCredentials({ username, password }: BmcOrder) {
  return username === undefined || password === undefined ? undefined : { username, password }
}

function storedCredentials(row: BmcRow | undefined, keyring: Keyring) {
  if (row?.username == null || row.password === null) return undefined
  return { username: row.username, password: keyring.decrypt(row.password, ASSOCIATED_DATA.bmc(row.bmc_ip)) }
}

function caBundle(ca_file: string | undefined, bmc_ip: string): string {
  if (ca_file !== undefined) return readFileSync(ca_file, 'utf8')
  throw new ApiError('BMC_NOT_CONFIGURED', `The record of BMC ${bmc_ip} has tls_mode ca, which needs bmc.ca_file.`)
}

// The operations on records of BMCs.
import { type bmcRecords, type BmcRecord } from '#src/contract/bmc/records.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import { textAt } from '#src/drivers/redfish/document.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import { certificateOf, deleteBmc, findBmcRecord, listBmcs, putBmc, replacePin } from '#src/store/bmcs.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import { recordOperation } from '../operation.ts'
import type { BmcDeps } from './bmc-call.ts'

interface RecordDeps extends BmcDeps {
  keyring: Keyring
}

type Routes = typeof bmcRecords.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

export function recordHandlers(deps: RecordDeps): Handlers<Routes, RequestContext> {
  const { bmcs, database } = deps
  const defaults = { port: bmcs.default_port }
  const read = async (bmc_ip: string): Promise<BmcRecord> => {
    const record = await findBmcRecord(database.db, bmc_ip, defaults)
    if (record === undefined) throw new ApiError('BMC_NOT_FOUND', `There is no record of BMC ${bmc_ip}.`)
    return record
  }
  return {
    bmcList: async ({ query }) => ({ ...(await listBmcs(database.db, pageOf(query), defaults)), ...pageOf(query) }),
    bmcGet: ({ params }) => read(addressOf('params.bmcIP', params.bmcIP)),
    async bmcPut(input, ctx) {
      const bmc_ip = addressOf('params.bmcIP', input.params.bmcIP)
      await put(deps, bmc_ip, input, ctx)
      return read(bmc_ip)
    },
    async bmcDelete({ params }, ctx) {
      const { bmc_ip } = await read(addressOf('params.bmcIP', params.bmcIP))
      const message = `The record of BMC ${bmc_ip} is deleted.`
      const subject = { resource_id: bmc_ip, description: `Deleting the record of BMC ${bmc_ip}.`, done: message }
      return recordOperation(deps, ctx, 'BMC_RECORD', subject, async () => {
        await deleteBmc(database.db, bmc_ip)
        bmcs.drop(bmc_ip)
        return { message }
      })
    },
    bmcRepin: (input, ctx) => repin(deps, input, ctx, read),
    bmcTest: (input, ctx) => test(deps, input, ctx, read),
  }
}

async function put(
  { bmcs, keyring, config, ...deps }: RecordDeps,
  bmc_ip: string,
  { body }: In<'bmcPut'>,
  ctx: RequestContext,
) {
  bmcs.redfish.requireAllowed(bmc_ip)
  const { username, password, port = null, tls_mode = 'pin', system_id = null } = body
  if (tls_mode === 'insecure' && !config.bmc.insecure_allowed) {
    throw invalidField('body.tls_mode', 'insecure needs bmc.insecure_allowed in the configuration')
  }
  if (tls_mode === 'ca' && config.bmc.ca_file === undefined) {
    throw invalidField('body.tls_mode', 'ca needs bmc.ca_file in the configuration')
  }
  const description = `Storing the record of BMC ${bmc_ip}.`
  const subject = { resource_id: bmc_ip, description, done: `The record of BMC ${bmc_ip} is stored.` }
  await recordOperation(deps, ctx, 'BMC_RECORD', subject, async () => {
    const encrypted = keyring.encrypt(password, ASSOCIATED_DATA.bmc(bmc_ip))
    await putBmc(deps.database.db, { bmc_ip, username, password: encrypted, port, tls_mode, system_id })
    bmcs.drop(bmc_ip)
  })
}

type Read = (bmc_ip: string) => Promise<BmcRecord>

async function repin(deps: RecordDeps, { params, body }: In<'bmcRepin'>, ctx: RequestContext, read: Read) {
  const { bmcs, database } = deps
  const { bmc_ip, port } = await read(addressOf('params.bmcIP', params.bmcIP))
  const seen = await bmcs.redfish.readCertificate(bmc_ip, port)
  const plain = (text: string): string => text.replaceAll(':', '').toUpperCase()
  if (plain(seen.fingerprint) !== plain(body.fingerprint)) {
    throw new ApiError(
      'BMC_PIN_CONFLICT',
      `BMC ${bmc_ip} shows the certificate ${seen.fingerprint}, not ${body.fingerprint}; nothing was changed.`,
    )
  }
  const done = `The certificate ${seen.fingerprint} of BMC ${bmc_ip} is accepted.`
  const subject = { resource_id: bmc_ip, description: `Accepting the certificate of BMC ${bmc_ip}.`, done }
  return recordOperation(deps, ctx, 'BMC_RECORD', subject, async () => {
    await replacePin(database.db, bmc_ip, seen, ctx.caller.username)
    bmcs.drop(bmc_ip)
    return read(bmc_ip)
  })
}

async function test({ bmcs }: RecordDeps, { params }: In<'bmcTest'>, ctx: RequestContext, read: Read) {
  const { bmc_ip } = await read(addressOf('params.bmcIP', params.bmcIP))
  const bmc = await bmcs.open({ bmc_ip, by: ctx.caller.username })
  bmc.forgetGraph()
  const { system, manager, root, dialect } = await bmc.graph({ signal: ctx.signal })
  const row = await bmcs.find(bmc_ip)
  const [vendor, model] = [textAt(system, 'Manufacturer'), textAt(system, 'Model')]
  return {
    message: `BMC ${bmc_ip} answers: ${[vendor, model].filter((word) => word !== null).join(' ') || 'it names no maker'}.`,
    dialect,
    vendor,
    model,
    serial: textAt(system, 'SerialNumber') ?? textAt(system, 'SKU'),
    manager_firmware: textAt(manager, 'FirmwareVersion'),
    redfish_version: textAt(root, 'RedfishVersion'),
    login: bmc.client.login() ?? 'basic',
    certificate: row === undefined ? null : certificateOf(row),
  }
}

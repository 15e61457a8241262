// Admits installations and reveals: everything is checked whose rejection the caller should hear at once, credentials included.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { KvmProvisionRequest, KvmRevealRequest, kvmProvisioning } from '#src/contract/kvm/provision.ts'
import type { Input, Output } from '#src/contract/route.ts'
import type { AllowedNetworks } from '#src/drivers/allowed-networks.ts'
import { checkLogin, readMsd } from '#src/drivers/pikvm/device.ts'
import { requireUsable } from '#src/drivers/pikvm/media.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { Trx } from '#src/store/database.ts'
import { holdAddress, knownDisks, knownNics, moveNode, nodeOfKvm } from '#src/store/node-lifecycle.ts'
import { allNodes, findNode, insertNode, type NodeRow } from '#src/store/nodes.ts'
import type { Parts } from '../module.ts'
import { addressTowards, requireOwnAddress } from '../own-address.ts'
import type { BootInput } from './boot-parts.ts'
import { hashPassword } from './password-hash.ts'
import type { ProvisionInput } from './provision-input.ts'
import { kvmProvisionJob } from './provision.job.ts'
import { planOf } from './provision-request.ts'
import { kvmRevealJob } from './reveal.job.ts'

type Routes = (typeof kvmProvisioning)['routes']
export type KvmDeps = Pick<Parts, 'bmcs' | 'config' | 'database' | 'jobs' | 'listening'> & {
  node_networks: AllowedNetworks
}

const MADE_PASSWORD_BYTES = 18

export function kvmProvision(deps: KvmDeps) {
  return async (
    { body }: Input<Routes['kvmProvision']>,
    ctx: RequestContext,
  ): Promise<Output<Routes['kvmProvision']>> => {
    let made: string | undefined
    if (!ctx.resumed) made = await admitProvision(deps, body, ctx)
    const job = await ended(deps, ctx)
    const { hostname, warnings, kvm_ip } = job.metadata as { hostname: string; warnings: string[]; kvm_ip: string }
    return { ...startedOf(job, kvm_ip), hostname, warnings, ...(made === undefined ? {} : { os_password: made }) }
  }
}

export function kvmReveal(deps: KvmDeps) {
  return async ({ body }: Input<Routes['kvmReveal']>, ctx: RequestContext): Promise<Output<Routes['kvmReveal']>> => {
    if (!ctx.resumed) await admitReveal(deps, body, ctx)
    const job = await ended(deps, ctx)
    const { kvm_ip } = job.metadata as { kvm_ip: string }
    return { ...startedOf(job, kvm_ip), report: deps.jobs.result(kvmRevealJob, job) ?? null }
  }
}

/** As it is at once, or at the end of `Prefer: wait`. */
async function ended({ jobs }: KvmDeps, { operation_id, wait_seconds, signal }: RequestContext): Promise<JobRow> {
  const until = wait_seconds > 0 ? {} : { until: () => true }
  const job = await jobs.wait(operation_id, { timeout_ms: wait_seconds * 1000, signal, ...until })
  throwIfFailed(job)
  return job
}

function startedOf(job: JobRow, kvm_ip: string) {
  const done = job.job_status === 'completed'
  const status = done ? ('completed' as const) : ('started' as const)
  return { job_id: job.id, message: done ? job.status : job.description, kvm_ip, status }
}

/** Answers the password when one was made. */
async function admitProvision(
  deps: KvmDeps,
  body: KvmProvisionRequest,
  ctx: RequestContext,
): Promise<string | undefined> {
  const { database, config, node_networks } = deps
  const kvm_ip = addressOf('body.bmc_ip', body.bmc_ip)
  const node = await nodeOf(deps, kvm_ip, body.vendor_bmc_ip)
  const bmc_ip = node?.bmc_ip ?? bmcOf(body.vendor_bmc_ip) ?? kvm_ip
  const others = (await allNodes(database.db)).filter((one) => one.bmc_ip !== bmc_ip)
  const { warnings, ...plan } = planOf(body, {
    disks: node === undefined ? [] : await knownDisks(database.db, node.node_id),
    nics: node === undefined ? [] : await knownNics(database.db, node.node_id),
    taken: new Set(others.flatMap(({ hostname, node_ip }) => [hostname?.toLowerCase() ?? '', node_ip ?? ''])),
    node_networks,
  })
  const boot = await bootInput(deps, { ...body, kvm_ip, bmc_ip, mode: 'install', path: 'body.control_node_ip' }, ctx)
  const given = body.os_password ?? config.installer.default_password
  const made = given === undefined ? randomBytes(MADE_PASSWORD_BYTES).toString('base64url') : undefined
  const input: ProvisionInput = { ...boot, ...plan, password_hash: hashPassword(given ?? made ?? '') }
  const { pool, nic, static_network, prefix_id, hostname, username, timezone } = plan
  await deps.jobs.admit(kvmProvisionJob, {
    operation: ctx,
    input,
    description: `Installing ${hostname} through the KVM ${kvm_ip}.`,
    node_ip: bmc_ip,
    resource_name: hostname,
    ...(node === undefined ? {} : { resource_id: node.id }),
    metadata: {
      kvm_ip,
      hostname,
      username,
      timezone,
      pool,
      nic,
      static_network,
      prefix_id,
      boot_strategy: boot.boot_strategy,
      warnings,
    },
    also: async (trx) => {
      await ensureNode(trx, boot, hostname, ctx)
      await moveNode(trx, bmc_ip, ['discovered', 'provision_failed'], 'provisioning', ctx.operation_id)
    },
  })
  return made
}

async function admitReveal(deps: KvmDeps, body: KvmRevealRequest, ctx: RequestContext): Promise<void> {
  const kvm_ip = addressOf('body.kvmIP', body.kvmIP)
  const node = await nodeOf(deps, kvm_ip, body.vendor_bmc_ip)
  const bmc_ip = node?.bmc_ip ?? bmcOf(body.vendor_bmc_ip) ?? kvm_ip
  if (node !== undefined && !['discovered', 'provision_failed'].includes(node.provision_status))
    throw new ApiError(
      'NODE_STATE',
      `Node ${bmc_ip} is ${node.provision_status}; a reveal would restart it. Decommission it first.`,
    )
  const boot_strategy = body.auto_boot === true ? body.boot_strategy : 'manual'
  const from = {
    ...body,
    boot_strategy,
    control_node_ip: body.controlNodeIp,
    kvm_ip,
    bmc_ip,
    mode: 'reveal' as const,
    path: 'body.controlNodeIp',
  }
  const boot = await bootInput(deps, from, ctx)
  await deps.jobs.admit(kvmRevealJob, {
    operation: ctx,
    input: boot,
    description: `Discovering the hardware behind the KVM ${kvm_ip}.`,
    node_ip: bmc_ip,
    resource_name: node?.hostname ?? kvm_ip,
    ...(node === undefined ? {} : { resource_id: node.id }),
    metadata: { kvm_ip, boot_strategy: boot.boot_strategy },
    also: (trx) => ensureNode(trx, boot, null, ctx),
  })
}

function bmcOf(vendor_bmc_ip: string | undefined): string | undefined {
  return vendor_bmc_ip === undefined ? undefined : addressOf('body.vendor_bmc_ip', vendor_bmc_ip)
}

/** The node behind the KVM, by its own BMC where it has one. */
async function nodeOf(
  { database }: KvmDeps,
  kvm_ip: string,
  vendor_bmc_ip: string | undefined,
): Promise<NodeRow | undefined> {
  const bmc_ip = bmcOf(vendor_bmc_ip)
  return bmc_ip === undefined ? nodeOfKvm(database.db, kvm_ip) : findNode(database.db, bmc_ip)
}

interface BootRequest extends Omit<KvmRevealRequest, 'controlNodeIp' | 'kvmIP' | 'auto_boot' | 'boot_strategy'> {
  boot_strategy?: BootInput['boot_strategy'] | undefined
  control_node_ip?: string
  kvm_ip: string
  bmc_ip: string
  mode: BootInput['mode']
  path: string
}

/** Tries the credentials, and reads whether the device can be used now. */
async function bootInput(deps: KvmDeps, body: BootRequest, ctx: RequestContext): Promise<BootInput> {
  const {
    kvm_ip,
    bmc_ip,
    mode,
    boot_strategy = 'order',
    boot_keys = [],
    media = 'cdrom',
    power_led = true,
    force = false,
  } = body
  const vendor_bmc_ip = bmcOf(body.vendor_bmc_ip) ?? null
  if (deps.config.installer.template === undefined)
    throw new ApiError(
      'INSTALLER_NOT_CONFIGURED',
      'No installer is configured: set installer.template (deploy/installer).',
    )
  const callback_url = await callbackUrl(deps, body.path, body.control_node_ip ?? '', kvm_ip)
  const by = ctx.caller.username
  const kvm = await deps.bmcs.openKvm({ bmc_ip: kvm_ip, by })
  await checkLogin(kvm, { signal: ctx.signal })
  if (vendor_bmc_ip !== null && boot_strategy === 'bmc') await deps.bmcs.open({ bmc_ip: vendor_bmc_ip, by })
  const msd = await readMsd(kvm, { signal: ctx.signal })
  if (!force) requireUsable(msd, null)
  const token = randomBytes(32).toString('base64url')
  return {
    kvm_ip,
    bmc_ip,
    by,
    mode,
    token,
    callback_url,
    boot_strategy,
    boot_keys,
    vendor_bmc_ip,
    media,
    power_led,
    force,
  }
}

const HTTPS_PORT = 443

async function callbackUrl(deps: KvmDeps, path: string, control_node_ip: string, kvm_ip: string): Promise<string> {
  const { config, listening } = deps
  const { callback_scheme: scheme, callback_port } = config.installer
  // Empty also without the record of the KVM, whose address is checked before anything is sent there.
  const address =
    control_node_ip === '' ? await addressTowards(kvm_ip) : await requireOwnAddress(deps, path, control_node_ip)
  const port = callback_port ?? (scheme === 'https' ? HTTPS_PORT : (listening() ?? config.listen.port))
  return `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${port}/configure/nodes/phone-home`
}

/** Registers the machine where nobody has, and remembers by which KVM it is reached. */
async function ensureNode(
  trx: Trx,
  { bmc_ip, kvm_ip }: BootInput,
  hostname: string | null,
  ctx: RequestContext,
): Promise<void> {
  const registered_by = ctx.caller.username
  const row =
    (await insertNode(trx, {
      id: randomUUIDv7(),
      bmc_ip,
      node_ip: null,
      fqdn: null,
      hostname,
      role: null,
      zone: null,
      registered_by,
    })) ?? (await findNode(trx, bmc_ip))
  if (row !== undefined && kvm_ip !== bmc_ip)
    await holdAddress(trx, row.node_id, null, { address: kvm_ip, kind: 'kvm' })
}

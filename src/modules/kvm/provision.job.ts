// Job: an operating system is installed on a machine through its remote KVM, and the machine is known as a node.
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { dropAddress, holdAddress, knownDisks, moveNode, recordDisks, recordNics } from '#src/store/node-lifecycle.ts'
import { findNode, nameNode } from '#src/store/nodes.ts'
import { allowRestart } from '#src/store/phone-home.ts'
import { installAnswers } from './answers.ts'
import type { KvmJobDeps } from './boot-parts.ts'
import {
  byHand,
  checkDevice,
  connectMedia,
  imageSteps,
  isMediaConnected,
  isOff,
  isOn,
  POWER_UNKNOWN,
  removeMedia,
  switchOff,
  switchOn,
  UPLOAD_MS,
} from './boot-steps.ts'
import { FIRST_BOOT, INSTALLED, LIVE_BOOTED } from './phone-home.ts'
import { ProvisionInput, type ProvisionRun, ProvisionState } from './provision-input.ts'
import { readSshBanner } from './ssh-banner.ts'

const image = imageSteps<ProvisionRun>({ answers: installAnswers, macs: ({ input }) => [input.nic.mac] })
const MINUTE_MS = 60_000

export const kvmProvisionJob = defineJob<KvmJobDeps>()({
  type: 'node.provision',
  input: ProvisionInput,
  state: ProvisionState,
  resource_type: 'NODE',
  limits: [
    { of: ({ bmc_ip }) => `node ${bmc_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: ({ kvm_ip }) => `KVM ${kvm_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
  ],
  steps: [
    { name: 'check-device', title: 'Check the KVM', run: checkDevice },
    {
      name: 'allocate-address',
      title: 'Allocate the address',
      applies: ({ input }) =>
        input.static_network !== null || input.prefix_id !== null
          ? true
          : 'The address comes from the DHCP server of the network, and is known when the node reports.',
      run: allocateAddress,
      undo: releaseAddress,
    },
    { name: 'build-iso', title: 'Make the image', weight: 2, run: image.build },
    {
      name: 'upload',
      title: 'Bring the image to the KVM',
      weight: 4,
      run: image.upload,
      undo: removeMedia,
      timeout_ms: UPLOAD_MS,
    },
    { name: 'connect', title: 'Connect the image to the machine', holds: isMediaConnected, run: connectMedia },
    {
      name: 'power-off',
      title: 'Switch the machine off',
      applies: byHand,
      holds: isOff,
      run: switchOff,
      outstanding: POWER_UNKNOWN,
    },
    {
      name: 'boot',
      title: 'Start the machine from the image',
      kind: 'once',
      applies: byHand,
      holds: isOn,
      run: switchOn,
      outstanding: POWER_UNKNOWN,
    },
    { name: 'live', title: 'Wait for the installer', weight: 3, run: waitForInstaller, timeout_ms: 15 * MINUTE_MS },
    {
      name: 'install',
      title: 'Wait for the installation',
      weight: 8,
      run: waitForInstallation,
      timeout_ms: 60 * MINUTE_MS,
    },
    { name: 'remove-media', title: 'Take the image away', run: finishMedia },
    {
      name: 'first-boot',
      title: 'Wait for the installed system and its SSH',
      weight: 4,
      run: waitForSystem,
      timeout_ms: 20 * MINUTE_MS,
    },
    { name: 'register', title: 'Record the node', run: register },
  ],
  on_failure: 'undo',
  undo: async (run) => {
    await run.fenced((trx) =>
      moveNode(trx, run.input.bmc_ip, ['provisioning', 'discovered'], 'provision_failed', run.job_id),
    )
  },
  done: ({ input, state }) => `Node ${input.hostname} is installed and answers at ${state.node_ip ?? ''}.`,
})

/** The same key again gets the same address. */
const keyOf = ({ job_id }: Pick<ProvisionRun, 'job_id'>): string => `provision ${job_id}`

async function allocateAddress(run: ProvisionRun): Promise<void> {
  const { input, deps } = run
  if (input.static_network !== null) {
    await run.save(input.static_network)
    return holdManagement(run, input.static_network.address, null)
  }
  const prefix_id = input.prefix_id ?? 0
  const prefix = await deps.ipam.prefix(prefix_id, run.signal)
  const got = await deps.ipam.allocate(prefix_id, {
    address: null, status: 'active', dns_name: input.hostname, owner_kind: 'node', owner_id: input.bmc_ip,
    description: `Node ${input.hostname}`, key: keyOf(run),
  }) // biome-ignore format: a record
  if (prefix === undefined || typeof got === 'string')
    throw new ApiError('IPAM_PREFIX_FULL', `Prefix ${prefix_id} has no free address, or is gone.`)
  if (!deps.node_networks.has(got.address))
    throw new ApiError('INVALID_REQUEST', `${got.address} of prefix ${prefix_id} is not in installer.node_networks.`)
  const address = `${got.address}/${got.prefix_length}`
  await run.save({ address, gateway: prefix.gateway, dns: prefix.dns_servers })
  await holdManagement(run, address, got.id)
}

async function holdManagement(run: ProvisionRun, address: string, ipam_id: number | null): Promise<void> {
  await run.fenced(async (trx) => {
    const node = await findNode(trx, run.input.bmc_ip)
    if (node !== undefined)
      await holdAddress(trx, node.node_id, run.job_id, { address: plainOf(address), kind: 'management', ipam_id })
  })
}

const plainOf = (address: string): string => address.split('/')[0] ?? ''

/** Once something is installed that uses the address, giving it to another node would make two of it. */
async function releaseAddress(run: ProvisionRun): Promise<void> {
  const { address } = run.state
  if (run.state.installed === true) {
    await run.note('WARN', 'The address stays with the node, because the installed system may use it.', { address })
    return
  }
  await run.deps.ipam.releaseKey(keyOf(run))
  if (address === undefined) return
  await run.fenced(async (trx) => {
    const node = await findNode(trx, run.input.bmc_ip)
    if (node !== undefined) await dropAddress(trx, node.node_id, { address: plainOf(address), kind: 'management' })
  })
}

function requireReached({ failure }: { failure: string | null }): void {
  if (failure !== null)
    throw new ApiError('INSTALL_FAILED', `The installer reports a failure: ${failure.slice(0, 500)}`)
}

async function waitForInstaller(run: ProvisionRun): Promise<void> {
  requireReached(await run.signalled(LIVE_BOOTED))
}

async function waitForInstallation(run: ProvisionRun): Promise<void> {
  const report = await run.signalled(INSTALLED)
  requireReached(report)
  await run.save({ installed: true })
  const { pool_health, ssh_host_keys } = report
  await run.note(pool_health === 'ONLINE' ? 'INFO' : 'WARN', 'The system is installed.', { pool_health, ssh_host_keys })
}

/** The installer restarts when it hears that the image is gone, so that it cannot start from it again. */
async function finishMedia(run: ProvisionRun): Promise<void> {
  await removeMedia(run)
  await run.fenced((trx) => allowRestart(trx, run.job_id))
}

async function waitForSystem(run: ProvisionRun): Promise<void> {
  const { deps, signal, state } = run
  const report = await run.signalled(FIRST_BOOT)
  requireReached(report)
  const expected = state.address === undefined ? undefined : plainOf(state.address)
  const node_ip = expected ?? report.addresses.find((address) => deps.node_networks.has(address))
  if (node_ip === undefined)
    throw new ApiError(
      'INSTALL_FAILED',
      `The node reports the addresses ${report.addresses.join(', ') || 'none'}, of which none is in installer.node_networks.`,
    )
  const banner = await readSshBanner(node_ip, deps.ssh_port, signal)
  if (banner === null) {
    await pause(0, undefined, { signal })
    return run.repeatAfter(deps.poll_ms)
  }
  await run.save({ node_ip, macs: report.macs })
  await run.note('INFO', 'The installed system answers on SSH.', { node_ip, banner })
}

async function register(run: ProvisionRun): Promise<void> {
  const { input, state, job_id } = run
  const { node_ip = '', macs = [] } = state
  await run.fenced(async (trx) => {
    const node = await moveNode(trx, input.bmc_ip, 'provisioning', 'discovered', job_id)
    await nameNode(trx, node.node_id, { node_ip, hostname: input.hostname })
    await holdAddress(trx, node.node_id, job_id, { address: node_ip, kind: 'management' })
    await recordNics(
      trx,
      node.node_id,
      macs.map((mac) => ({ permanent_mac: mac, name: mac === input.nic.mac ? (input.nic.name ?? mac) : mac })),
    )
    const known = await knownDisks(trx, node.node_id)
    const unknown = input.pool.disks.filter((id) => !known.some(({ serial, wwn }) => id === serial || id === wwn))
    await recordDisks(
      trx,
      node.node_id,
      unknown.map((serial) => ({ name: serial, serial, wwn: null, size_bytes: null })),
    )
  })
}

// Remote KVMs: the power of their machines, and machines that are started from an image of ours.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { kvmPower } from '#src/contract/kvm/power.ts'
import { kvmProvisioning } from '#src/contract/kvm/provision.ts'
import { allowedNetworks } from '#src/drivers/allowed-networks.ts'
import { bindJob } from '#src/jobs/define.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { createAddressPorts } from '../address-ports.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { createPowerStreams } from '../power-streams.ts'
import { tableSource } from '../search-source.ts'
import type { KvmJobDeps } from './boot-parts.ts'
import { xorrisoRunner } from './image.ts'
import { nodePhoneHome } from './phone-home.ts'
import { kvmPowerGet, kvmPowerReader } from './power.ts'
import { kvmProvision, kvmReveal } from './provision.ts'
import { kvmProvisionJob } from './provision.job.ts'
import { kvmRevealJob } from './reveal.job.ts'

export function kvmModule(parts: Parts): Module {
  const { bmcs, config, log } = parts
  const { watch_ms } = config.bmc
  const streams = createPowerStreams({ device: 'KVM', open: kvmPowerReader(bmcs), watch_ms, log })
  const job_deps = jobDeps(parts)
  const deps = { ...parts, node_networks: job_deps.node_networks }
  return {
    areas: [
      serve(kvmPower, {
        kvmPowerGet: kvmPowerGet(bmcs),
        kvmPowerStream: ({ query }, ctx) =>
          streams.watch({ bmc_ip: addressOf('query.bmc_ip', query.bmc_ip ?? ''), by: ctx.caller.username }),
      }),
      serve(kvmProvisioning, {
        kvmProvision: kvmProvision(deps),
        kvmReveal: kvmReveal(deps),
        nodePhoneHome: nodePhoneHome(parts),
      }),
    ],
    jobs: [bindJob(kvmProvisionJob, job_deps), bindJob(kvmRevealJob, job_deps)],
    watchers: [{ stop: () => streams.stop() }],
    search: [tableSource(parts.database, 'kvm', kvmPower, 'kvmPowerGet', (kvm_ip) => ({ query: { kvm_ip } }))],
  }
}

const MIB = 1024 * 1024

function jobDeps(parts: Parts): KvmJobDeps {
  const { bmcs, config, database } = parts
  const { installer, data_dir } = config
  return {
    bmcs,
    database,
    ipam: createAddressPorts(parts).store,
    tools: {
      run: xorrisoRunner(installer.xorriso),
      template: installer.template ?? '',
      work_dir: installer.work_dir ?? join(data_dir, 'installer'),
    },
    node_networks: allowedNetworks(installer.node_networks),
    callback_ca: installer.callback_ca_file === undefined ? null : readFileSync(installer.callback_ca_file, 'utf8'),
    verify_most_bytes: installer.verify_most_mib * MIB,
    poll_ms: installer.poll_ms,
    off_ms: installer.off_seconds * 1000,
    ssh_port: installer.ssh_port,
  }
}

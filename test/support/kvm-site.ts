// A lab with simulated remote KVMs whose records are stored, each at an address of its own.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeInstaller } from '../../lab/installer/xorriso.ts'
import { type PikvmLab, type SimulatedKvm, startPikvm } from '../../lab/pikvm/server.ts'
import type { Speed } from '../../lab/pikvm/state.ts'
import { freeTcpPort } from './free-port.ts'
import { type Lab, type LabOptions, startLab } from './start-lab.ts'
import { tempFolder } from './temp-folder.ts'

export const FAST_KVM: Speed = { press_ms: 5, power_ms: 10, shutdown_ms: 20, boot_ms: 20, install_ms: 20, poll_ms: 100 }

export interface KvmSite<Name extends string> {
  lab: Lab
  pikvm: PikvmLab
  kvms: Record<Name, SimulatedKvm>
  ssh_port: number
  /** What the KVM was asked, as "METHOD path". */
  asked(kvm: SimulatedKvm): string[]
  close(): Promise<void>
}

export interface KvmSiteOptions<Name extends string> extends LabOptions {
  names: readonly Name[]
  bmc?: Record<string, unknown>
  installer?: Record<string, unknown>
}

/** Addresses of the machines behind the KVMs are in 127.0.83.0/24. */
export async function startKvmSite<Name extends string>({
  names,
  bmc,
  installer,
  ...options
}: KvmSiteOptions<Name>): Promise<KvmSite<Name>> {
  const folder = join(tempFolder('gp-installer-'), 'tools')
  mkdirSync(folder)
  const ssh_port = await freeTcpPort()
  const pikvm = await startPikvm({
    kvms: names.map((name, index) => ({ name, host: `127.0.82.${index + 11}` })),
    speed: FAST_KVM,
  })
  const lab = await startLab({
    ...options,
    config: {
      bmc: { allowed_networks: ['127.0.82.0/24'], timeout_ms: 6000, follow_ms: 20, watch_ms: 100, ...bmc },
      installer: {
        ...makeInstaller(folder), node_networks: ['127.0.83.0/24'], callback_scheme: 'http', ssh_port, poll_ms: 20, ...installer,
      },
      ...options.config,
    },
  }).catch(async (error: unknown) => {
    await pikvm.close()
    throw error
  }) // biome-ignore format: records
  const kvms = pikvm.kvms as KvmSite<Name>['kvms']
  const site: KvmSite<Name> = {
    lab,
    pikvm,
    kvms,
    ssh_port,
    asked: ({ name }) =>
      pikvm.calls
        .list()
        .filter(({ command }) => command.startsWith(`${name} `))
        .map(({ command }) => command.slice(name.length + 1)),
    async close() {
      await lab.close()
      await pikvm.close()
    },
  }
  for (const kvm of Object.values<SimulatedKvm>(kvms)) await putKvm(site, kvm)
  return site
}

export async function putKvm(
  { lab }: Pick<KvmSite<string>, 'lab'>,
  { host, port, username, password }: Pick<SimulatedKvm, 'host' | 'port' | 'username' | 'password'>,
  more: object = {},
): Promise<void> {
  const reply = await lab.call('PUT', `/vendora-inventory/bmcs/${host}`, { username, password, port, ...more })
  assert.equal(reply.status, 200, reply.text)
}

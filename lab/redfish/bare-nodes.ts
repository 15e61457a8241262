/** Six machines that are nothing but a BMC, and two that are nothing but a remote KVM: made known to the lab through the API, as an operator would. */
import type { ProfileName } from './profiles.ts'
import type { KvmOptions, SimulatedKvm } from '../pikvm/server.ts'
import type { BmcOptions, SimulatedBmc } from './server.ts'

const PROFILES: readonly ProfileName[] = ['idrac9-7', 'idrac9-7', 'idrac9-5', 'idrac10', 'generic-2023', 'minimal']

/** Addresses of the loopback network, one for each BMC. */
export const BARE_NETWORK = '127.0.78.0/24'

export const BARE_NODES: readonly BmcOptions[] = PROFILES.map((profile, index) => ({
  name: `bare-0${index + 1}`,
  profile,
  host: `127.0.78.${index + 11}`,
}))

/** Without a BMC: what is on their disks comes through the KVM. */
export const KVM_NODES: readonly KvmOptions[] = [1, 2].map((number) => ({
  name: `kvm-bare-0${number}`,
  host: `127.0.78.${number + 40}`,
}))

/** Addresses for what is installed on them. */
export const NODE_NETWORK = '127.0.86.0/24'

export interface SeedOptions {
  url: string
  token: string
  devices: readonly (SimulatedBmc | SimulatedKvm)[]
  log: (line: string) => void
}

/** Registers the nodes and stores the records. Whatever is there stays; ports differ from start to start. */
export async function seedBareNodes({ url, token, devices, log }: SeedOptions): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, body: object): Promise<void> => {
    const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) log(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`)
  }
  const seed = async ({
    name,
    host,
    port,
    username,
    password,
    fingerprint,
  }: SimulatedBmc | SimulatedKvm): Promise<void> => {
    const known = await fetch(`${url}/configure/nodes/${host}`, { headers })
    await known.body?.cancel()
    if (known.status === 404) await send('POST', '/configure/nodes', { bmc_ip: host, hostname: name })
    await send('PUT', `/vendora-inventory/bmcs/${host}`, { username, password, port })
    // Each start of the lab makes new certificates.
    await send('POST', `/vendora-inventory/bmcs/${host}/repin`, { fingerprint: fingerprint() })
  }
  await Promise.all(devices.map(seed))
}

// The answer file of an image: what the installer is told (deploy/installer/README.md). No password is in it, only its hash.
import type { BootRun } from './boot-parts.ts'
import type { ProvisionRun } from './provision-input.ts'

const VERSION = 1

export function installAnswers({ job_id, input, state, deps }: ProvisionRun) {
  const { hostname, username, password_hash, pool, nic, timezone, wipe_existing, bmc_ip } = input
  const { address = null, gateway = null, dns = [] } = state
  return {
    version: VERSION,
    mode: input.mode,
    job_id,
    node: bmc_ip,
    token: input.token,
    callback: { url: input.callback_url, ca: deps.callback_ca },
    hostname,
    timezone,
    locale: 'C.UTF-8',
    user: { name: username, password_hash },
    root_password_hash: password_hash,
    pool: { ...pool, ashift: 12, compression: 'lz4' },
    network: { mac: nic.mac, address, gateway, dns },
    ssh_port: deps.ssh_port,
    wipe_existing,
  }
}

export function revealAnswers({ job_id, input, deps }: BootRun) {
  const { bmc_ip, mode, token, callback_url } = input
  return { version: VERSION, mode, job_id, node: bmc_ip, token, callback: { url: callback_url, ca: deps.callback_ca } }
}

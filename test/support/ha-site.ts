// Two management nodes on one machine, each at a loopback address of its own, as members of one cluster.
import { copyFileSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { type ControlPlane, startControlPlane } from '../../bin/control-plane.ts'
import { issueMemberCertificate } from '#src/kernel/certificates.ts'
import { checkConfig, type Config } from '#src/kernel/config.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import {
  createMemberIdentity,
  createPeerCalls,
  type MemberIdentity,
  type PeerCalls,
} from '#src/modules/ha/peer-calls.ts'
import { createCaStore } from '#src/store/ca.ts'
import { openDatabase } from '#src/store/database.ts'
import { freeTcpPort } from './free-port.ts'
import { type Lab, startLab } from './start-lab.ts'
import { tempFolder } from './temp-folder.ts'

export const CLUSTER_SECRET = 'ha-cluster-secret'
export const FIRST = { bmc_ip: '10.9.0.2', address: '127.0.0.2', interface: 'lo', priority: 130 }
export const SECOND = { bmc_ip: '10.9.0.3', address: '127.0.0.3', interface: 'lo', priority: 120 }
export const VIP = '192.0.2.100'

export interface HaSite {
  lab: Lab
  second: ControlPlane
  second_config: Config
  scripts_dir: string
  /** Calls the first node as somebody with a certificate of this address. */
  callAs(address: string): Promise<PeerCalls>
  /** Stands in for a peer at the address, under a certificate of that name, and answers every request with this. */
  servePeer(address: string, answer: object, name?: string): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** `scope_dir`: where the file-sync keys of peers may write to, where a test lets them. */
export async function startHaSite({ scope_dir }: { scope_dir?: string } = {}): Promise<HaSite> {
  const port = await freeTcpPort()
  const folder = tempFolder('gp-ha-')
  const scripts_dir = join(folder, 'scripts')
  const ha = { port, check_ms: 200, virtual_addresses: [`${VIP}/24`], ...(scope_dir !== undefined && { scope_dir }) }
  const lab = await startLab({
    config: {
      auth: { cluster_secret: CLUSTER_SECRET },
      nodes: { heartbeat_interval_ms: 300, offline_after_ms: 600_000 },
      node: { settings: { failover: { scripts_dir, pid_file: join(folder, 'none.pid') } } },
      ha: { ...ha, address: FIRST.address },
    },
  })
  const data_dir = join(folder, 'second')
  mkdirSync(data_dir)
  copyFileSync(join(lab.data_dir, 'keys'), join(data_dir, 'keys'))
  const second_config = checkConfig({ ...lab.config, data_dir, ha: { ...ha, address: SECOND.address } })
  const { connection } = lab.database
  const { log } = lab.control
  const second = await startControlPlane(second_config, { connection, log, admin_token: 'first-start' })
  const database = openDatabase({ connection, pool_size: 2, log })
  const ca = createCaStore(database, openKeyring(join(lab.data_dir, 'keys')))
  return {
    lab, second, second_config, scripts_dir,
    callAs: async (address) => createPeerCalls(createMemberIdentity(ca, address), port),
    async servePeer(address, answer, name = address) {
      const issuer = await ca.get()
      const made = await issueMemberCertificate(issuer, name)
      return serve({ ...made, ca: issuer.certificate }, address, port, answer)
    },
    async close() {
      await second.close()
      await database.close()
      await lab.close()
    },
  } // biome-ignore format: short names
}

async function serve(
  identity: MemberIdentity,
  host: string,
  port: number,
  answer: object,
): Promise<() => Promise<void>> {
  const { key, certificate, ca } = identity
  const server = createServer({ key, cert: certificate, ca, requestCert: true }, (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
}

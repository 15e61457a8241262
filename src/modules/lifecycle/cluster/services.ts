// The control plane of a member: configured as this one, and reached as members reach each other.
import { join } from 'node:path'
import type { ServicesDocument } from '#src/contract/nodes/desired-documents.ts'
import { type ClusterRun, KEY_FILE } from './ports.ts'

export async function servicesDocument({ deps }: Pick<ClusterRun, 'deps'>, address: string): Promise<ServicesDocument> {
  const { cluster } = deps
  return {
    version: cluster.version,
    ...cluster.configOf(address),
    keys: { path: join(cluster.data_dir, KEY_FILE), text: await cluster.keys() },
  }
}

/** Under mutual TLS, with a certificate for its address: it has the cluster's database and keys. */
export function answersPeers({ deps }: Pick<ClusterRun, 'deps'>, address: string): Promise<boolean> {
  return deps.cluster.peers.call(address, 'GET', '/internal/ssh/filesync-pubkey').then(
    () => true,
    () => false,
  )
}

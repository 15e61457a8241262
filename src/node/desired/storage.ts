// The area `storage`: this node as a client of the storage cluster, with its key and its monitors.
import { join } from 'node:path'
import { StorageDocument } from '#src/contract/nodes/desired-documents.ts'
import type { DesiredArea } from './area.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { createPlannedArea } from './planned-area.ts'

const CONFIG = '/etc/ceph/ceph.conf'

export function createStorageArea(place: Place, state_dir: string): DesiredArea {
  const { host, root } = place
  return createPlannedArea({
    name: 'storage',
    schema: StorageDocument,
    place,
    state_dir,
    plan: (document) => {
      const { client, packages = [] } = document
      const places = ['-c', join(root, CONFIG), '-k', join(root, keyringPath(client))]
      const answers = async (): Promise<string | null> => {
        const args = ['--connect-timeout', '10', ...places, '-n', `client.${client}`, 'health']
        const run = await host.run('ceph', args, { timeout_ms: 20_000 })
        return run.outcome === 'exited' && run.exit_code === 0 ? null : `the cluster does not answer client.${client}`
      }
      return { packages, files: clientFiles(document), effects: [{ differs: answers, commands: [] }] }
    },
  })
}

/** Exported for its test. */
export function clientFiles({ fsid, monitors, client, key }: StorageDocument): ManagedFile[] {
  return [
    { kind: 'whole', path: CONFIG, text: `[global]\nfsid = ${fsid}\nmon_host = ${monitors.join(',')}\n` },
    { kind: 'whole', path: keyringPath(client), text: `[client.${client}]\n\tkey = ${key}\n`, mode: 0o600 },
  ]
}

function keyringPath(client: string): string {
  return `/etc/ceph/ceph.client.${client}.keyring`
}

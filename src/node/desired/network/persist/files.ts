// Which network manager this node has, and the files that a document becomes there.
import { realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { NewFile } from '../../../guarded/change.ts'
import { readSources } from '../../../mtu/persist/configuration.ts'
import { ifupdownWriter } from './ifupdown.ts'
import { netplanWriter } from './netplan.ts'
import { networkManagerWriter } from './network-manager.ts'
import { networkdWriter } from './networkd.ts'
import type { NetworkWriter } from './writer.ts'

/** netplan comes first: it writes the files of the others. */
const WRITERS: readonly NetworkWriter[] = [netplanWriter, networkManagerWriter, networkdWriter, ifupdownWriter]

/** Where links lead to is where it is written. */
export async function planWriting(root: string, document: NetworkDocument): Promise<NewFile[]> {
  const { writer, files } = await findManager(root, document)
  return Promise.all(
    writer.write(files, document).map(async ({ path, text, mode }) => {
      const place = join(root, path)
      return { path: await realpath(place).catch(() => place), text, ...(mode === undefined ? {} : { mode }) }
    }),
  )
}

/** The one whose files name a device of the document, else the first that has a place on this node. */
async function findManager(root: string, document: NetworkDocument) {
  const read = await Promise.all(
    WRITERS.map(async (writer) => ({ writer, files: await readSources(root, writer.adapter) })),
  )
  const names = document.devices.flatMap(({ name, members = [] }) => [name, ...members])
  const owner = read.find(({ writer, files }) => names.some((name) => writer.adapter.owns(files, name)))
  if (owner !== undefined) return owner
  for (const one of read) {
    const places = one.writer.adapter.sources.map(({ path }) => stat(join(root, path)).catch(() => null))
    if (one.files.length > 0 || (await Promise.all(places)).some((place) => place !== null)) return one
  }
  throw new ApiError(
    'DESIRED_CONFLICT',
    'The node has no network manager that is known: netplan, NetworkManager, systemd-networkd or ifupdown.',
  )
}

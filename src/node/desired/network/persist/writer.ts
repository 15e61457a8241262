// What every writer of network configuration takes and gives, and which one this node needs.
import type { NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import type { ConfigFile, PersistAdapter } from '../../../mtu/persist/change.ts'

/** Null removes the file. */
export interface WrittenFile {
  path: string
  text: string | null
  mode?: number
}

export interface NetworkWriter {
  /** The same manager as MTU changes know: its name, its files, and whether they define a device. */
  adapter: Pick<PersistAdapter, 'name' | 'sources' | 'owns'>
  /** Only files that change. What others wrote about the devices of the document is taken out or switched off. */
  write(files: readonly ConfigFile[], document: NetworkDocument): WrittenFile[]
}

/** Beginning of the names of files that are ours alone. */
export const OWN_PREFIX = 'groundplane'

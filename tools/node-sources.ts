// Every record of a node with the sources that its collectors declare.
import type { FieldSource } from '#src/node/field-source.ts'
import { sources as frr } from '#src/node/frr/sources.ts'
import { sources as net } from '#src/node/net/sources.ts'
import { sources as storage } from '#src/node/storage/sources.ts'

export const nodeSources: readonly { record: string; sources: readonly FieldSource[] }[] = [
  { record: 'Network (NodeNet)', sources: net },
  { record: 'Router (FrrNode)', sources: frr },
  { record: 'Storage (Disk, LocalpoolSubsystem, ClusterStoreStatus, StorageHealth, StorageMetrics)', sources: storage },
]

// The storage routes of a node.
import { pageOf } from '#src/contract/common.ts'
import type { hostStorage } from '#src/contract/storage/host.ts'
import type { Handlers } from '#src/contract/route.ts'
import { clusterStatusAnswer, healthAnswer, metricsAnswer, readings } from './answers.ts'
import { diskViews, neverRead } from './disks.ts'
import type { StorageMonitor } from './monitor.ts'

export interface StorageDeps {
  monitor: StorageMonitor
}

export function storageHandlers({ monitor }: StorageDeps): Handlers<typeof hostStorage.routes, unknown> {
  return {
    hostDiskList: ({ query }) => diskPage(monitor, query, false),
    clusterstoreDiskList: ({ query }) => diskPage(monitor, query, true),
    clusterstoreStatus: () => clusterStatusAnswer(monitor.snapshot()),
    hostStorageHealth: () => healthAnswer(monitor.snapshot()),
    hostStorageMetrics: () => metricsAnswer(monitor.snapshot()),
  }
}

function diskPage(monitor: StorageMonitor, query: { page?: number; page_size?: number }, clusterstore_only: boolean) {
  const snapshot = monitor.snapshot()
  const { page, page_size } = pageOf(query)
  const all = diskViews(snapshot)?.map((view) => view.disk) ?? null
  const disks = all?.filter((disk) => !clusterstore_only || disk.allocated_to === 'clusterstore') ?? null
  const reason = neverRead(snapshot.inventory, 'the list of disks')
  return {
    disks: disks?.slice((page - 1) * page_size, page * page_size) ?? null,
    count: disks?.length ?? null,
    page,
    page_size,
    readings: readings(snapshot, ['disks', 'smart', 'io', 'localpool', 'clusterstore']),
    unavailable: disks === null ? ['disks', 'count'].map((field) => ({ field, reason })) : [],
  }
}

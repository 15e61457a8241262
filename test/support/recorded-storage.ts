// A host whose storage tools answer with recorded outputs; single answers can be replaced.
import type { RunResult } from '#src/kernel/host.ts'
import { linuxFixture } from './linux-fixture.ts'
import { type ScriptedHost, scriptedHost } from './scripted-host.ts'

export interface RecordedStorage {
  files?: Record<string, string>
  folders?: Record<string, string[]>
  links?: Record<string, string>
  /** By the start of the command line; the longest start wins. Null: the tool is not installed. */
  commands?: Record<string, Partial<RunResult> | null>
}

const CEPH = 'ceph --connect-timeout 5'

const HEALTHY: Record<string, Partial<RunResult>> = {
  lsblk: fixture('lsblk', 'lsblk-zfs-J-b.json'),
  'zpool list': { stdout: poolList('ok') },
  'zpool status': fixture('zfs', 'ok-zpool-status-pPL.txt'),
  'zpool iostat': fixture('zfs', 'ok-zpool-iostat-lHpy-2-1.txt'),
  'zfs list': { stdout: rootDatasets() },
  lvs: fixture('lvm', 'lvs-report.json'),
  smartctl: fixture('smartctl', 'ata-ssd-x.json'),
  [`${CEPH} status`]: fixture('ceph', 'status.json'),
  [`${CEPH} osd metadata`]: fixture('ceph', 'osd-metadata.json'),
  [`${CEPH} osd pool ls`]: { stdout: '\n["device_health_metrics","bench"]\n' },
  [`${CEPH} osd crush class ls`]: fixture('ceph', 'osd-crush-class-ls.json'),
  [`${CEPH} osd df`]: fixture('ceph', 'osd-df.json'),
}

export function recordedStorage(recorded: RecordedStorage = {}): ScriptedHost {
  const commands: Record<string, Partial<RunResult> | null> = { ...HEALTHY, ...recorded.commands }
  return scriptedHost({
    ...recorded,
    files: {
      '/proc/sys/kernel/hostname': 'vm\n',
      '/proc/diskstats': linuxFixture('proc', 'diskstats.txt'),
      '/proc/spl/kstat/zfs/arcstats': linuxFixture('zfs', 'arcstats.txt'),
      ...recorded.files,
    },
    run(tool, args) {
      const line = [tool, ...args].join(' ')
      const [best] = Object.keys(commands)
        .filter((start) => line.startsWith(start))
        .sort((a, b) => b.length - a.length)
      return best === undefined ? undefined : (commands[best] ?? undefined)
    },
  })
}

export function fixture(folder: string, file: string, exit_code = 0): Partial<RunResult> {
  return { stdout: linuxFixture(folder, file), exit_code }
}

/** The recordings have more columns than are asked for: the ones that are asked for, in that order. */
export function poolList(state: string): string {
  return linuxFixture('zfs', `${state}-zpool-list-Hp.txt`)
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [name, size, allocated, free, fragmentation, capacity, , health, , readonly] = line.split('\t')
      return [name, size, allocated, free, fragmentation, capacity, health, readonly].join('\t')
    })
    .join('\n')
}

export function rootDatasets(): string {
  return linuxFixture('zfs', 'ok-zfs-list-Hp.txt')
    .split('\n')
    .filter((line) => line !== '' && !line.includes('/data') && !line.includes('/vol1'))
    .map((line) => line.split('\t').slice(0, 3).join('\t'))
    .join('\n')
}

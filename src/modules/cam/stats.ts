// Statistics of the NVR, in our words: its folders and processes carry its own.
import type { NvrStats } from '#src/contract/cam/events.ts'
import type { StatsAnswer } from '#src/drivers/frigate/shapes.ts'

const FOLDERS: Readonly<Record<string, string>> = {
  '/media/frigate/recordings': 'recordings',
  '/media/frigate/clips': 'clips',
  '/tmp/cache': 'cache',
  '/dev/shm': 'shm',
}
const WHOLE_SYSTEM = 'frigate.full_system'

export function statsOf(answer: StatsAnswer): NvrStats {
  const { cameras, detectors, processes, cpu_usages, gpu_usages, service } = answer
  const [version] = /^[\d.]+/.exec(service?.version ?? '') ?? []
  return {
    cameras: figuresOf(cameras),
    detectors: figuresOf(detectors),
    processes: figuresOf(processes),
    cpu_usages: figuresOf(cpu_usages, (name) => (name === WHOLE_SYSTEM ? 'system' : name), withoutCommand),
    gpu_usages: figuresOf(gpu_usages),
    storage: figuresOf(service?.storage, (path) => FOLDERS[path]),
    uptime_s: service?.uptime ?? null,
    nvr_version: version ?? null,
    updated_at: service?.last_updated ?? null,
  }
}

type Figures = Record<string, Record<string, unknown>>

/** Only what is a record of figures; what has no name of ours is left out. */
function figuresOf(
  value: Record<string, unknown> | null | undefined,
  nameOf: (name: string) => string | undefined = (name) => name,
  keep: (figures: Record<string, unknown>) => Record<string, unknown> = (figures) => figures,
): Figures {
  const figures: Figures = {}
  for (const [key, member] of Object.entries(value ?? {})) {
    const name = nameOf(key)
    if (name !== undefined && typeof member === 'object' && member !== null && !Array.isArray(member))
      figures[name] = keep(member as Record<string, unknown>)
  }
  return figures
}

/** Commands of ffmpeg hold the addresses of cameras with their passwords. */
function withoutCommand({ cmdline: _cmdline, ...figures }: Record<string, unknown>): Record<string, unknown> {
  return figures
}

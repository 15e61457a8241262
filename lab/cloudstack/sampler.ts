/** Metrics that move without being stored: each value follows from the VM's number and the index of the interval. */
import { noise } from '../site.ts'
import type { Vm } from './records.ts'
import { wireDate } from './wire.ts'

export const INTERVAL_MS = 60_000
export const RETENTION_MS = 720 * 60_000

interface Sample {
  cpu_percent: number
  diskioread: number
  diskiowrite: number
  diskkbsread: number
  diskkbswrite: number
  networkkbsread: number
  networkkbswrite: number
  memorykbs: number
  memoryintfreekbs: number
  memorytargetkbs: number
}

/** A slow wave with noise on top, so that a graph over hours looks like a machine with a daily rhythm. */
export function sampleOf(vm: Vm, index: number): Sample {
  const busy = 0.05 + 0.55 * noise(vm.number, 11)
  const wave = 0.6 + 0.4 * Math.sin(index / 37 + vm.number)
  const load = Math.min(1, busy * wave * (0.7 + 0.6 * noise(vm.number, index)))
  const amount = (channel: number, scale: number): number =>
    Math.round(load * scale * (0.5 + noise(vm.number * 31 + channel, index)))
  const memorykbs = vm.memory * 1024
  // Every seventh guest has no agent inside and reports no free memory.
  const free = vm.number % 7 === 0 ? 0 : Math.round(memorykbs * (0.15 + 0.5 * noise(vm.number, 13)) * (1 - 0.3 * load))
  return {
    cpu_percent: Math.round(load * 10_000) / 100,
    diskioread: amount(1, 4000),
    diskiowrite: amount(2, 6000),
    diskkbsread: amount(3, 60_000),
    diskkbswrite: amount(4, 90_000),
    networkkbsread: amount(5, 120_000),
    networkkbswrite: amount(6, 80_000),
    memorykbs,
    memoryintfreekbs: free,
    memorytargetkbs: memorykbs,
  }
}

export function sampleFields(sample: Sample): Record<string, string | number> {
  const { cpu_percent, ...numbers } = sample
  return { cpuused: `${trimmed(cpu_percent)}%`, ...numbers }
}

/** The extra texts of the metrics list; numbers for people, in the server's locale. */
export function metricTexts(vm: Vm, sample: Sample | null): Record<string, string | number> {
  const totals = {
    cputotal: `${((vm.cpunumber * vm.cpuspeed) / 1000).toFixed(1)} Ghz`,
    memorytotal: `${(vm.memory / 1024).toFixed(2)} GiB`,
  }
  if (sample === null) return totals
  return {
    ...totals,
    networkread: mebibytes(sample.networkkbsread),
    networkwrite: mebibytes(sample.networkkbswrite),
    diskread: mebibytes(sample.diskkbsread),
    diskwrite: mebibytes(sample.diskkbswrite),
    diskiopstotal: sample.diskioread + sample.diskiowrite,
  }
}

/** One row of the usage history; its timestamp is the end of the interval. */
export function statsRow(vm: Vm, index: number, time_ms: number): Record<string, string | number> {
  const sample = sampleOf(vm, index)
  return {
    timestamp: wireDate(time_ms),
    ...sampleFields(sample),
    diskiopstotal: sample.diskioread + sample.diskiowrite,
    networkread: mebibytes(sample.networkkbsread),
    networkwrite: mebibytes(sample.networkkbswrite),
  }
}

function mebibytes(kib: number): string {
  return `${(kib / 1024).toFixed(2)} MiB`
}

function trimmed(value: number): string {
  return String(Math.round(value * 100) / 100)
}

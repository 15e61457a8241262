/** The stub command `fio` of a captured host: takes as long as it is told, reads and writes nothing, and reports what a
 * solid-state disk of this kind would do. */
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

interface Direction {
  iops: number
  bytes_per_second: number
  latency_us: number
}

/** One request of 4 KiB alone, and the most of the device together. */
const DISK = {
  read: { latency_us: 82, most_iops: 480_000, most_bytes: 3.2e9 },
  write: { latency_us: 24, most_iops: 320_000, most_bytes: 2.1e9 },
} as const
const IDLE: Direction = { iops: 0, bytes_per_second: 0, latency_us: 0 }
const UNITS: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

if (process.argv.includes('--version')) process.stdout.write('fio-3.33\n')
else await run(new Map(process.argv.slice(2).map(optionOf)))

function optionOf(word: string): [string, string] {
  const [name = '', value = ''] = word.replace(/^--/, '').split('=', 2)
  return [name, value]
}

async function run(options: ReadonlyMap<string, string>): Promise<void> {
  const number = (name: string, otherwise: number): number => Number(options.get(name) ?? otherwise)
  const block = bytesOf(options.get('bs') ?? '4k')
  const parallel = number('numjobs', 1) * (options.get('ioengine') === 'psync' ? 1 : number('iodepth', 1))
  const read_part = partOfReads(options.get('rw') ?? 'read', number('rwmixread', 50))
  const read = read_part === 0 ? IDLE : direction('read', { block, parallel, part: read_part })
  const write = read_part === 1 ? IDLE : direction('write', { block, parallel, part: 1 - read_part })
  const seconds = options.has('runtime') ? number('runtime', 0) : 0
  for (let second = 1; second <= seconds; second += 1) {
    await wait(1000)
    process.stdout.write(`${progress(second, seconds, read, write)}\n`)
  }
  const report = { 'fio version': 'fio-3.33', jobs: [job(options.get('name') ?? 'bench', { seconds, read, write })] }
  const descriptor = Number(/\/fd\/(\d+)$/.exec(options.get('output') ?? '')?.[1] ?? 1)
  writeSync(descriptor, `${JSON.stringify(report, null, 2)}\n`)
}

/** More at once is faster until the device is full; from then on requests wait. */
function direction(
  name: 'read' | 'write',
  { block, parallel, part }: { block: number; parallel: number; part: number },
): Direction {
  const { latency_us, most_iops, most_bytes } = DISK[name]
  const alone_us = latency_us + (block / most_bytes) * 1e6
  const wanted = (parallel / alone_us) * 1e6 * part
  const iops = Math.min(wanted, most_iops * part, (most_bytes * part) / block) * (0.97 + Math.random() * 0.06)
  return { iops, bytes_per_second: iops * block, latency_us: ((parallel * part) / iops) * 1e6 }
}

function partOfReads(rw: string, mix: number): number {
  if (rw === 'read' || rw === 'randread') return 1
  return rw === 'write' || rw === 'randwrite' ? 0 : mix / 100
}

function job(
  jobname: string,
  { seconds, read, write }: { seconds: number; read: Direction; write: Direction },
): object {
  return { jobname, error: 0, elapsed: seconds, read: figures(read, seconds), write: figures(write, seconds) }
}

function figures({ iops, bytes_per_second, latency_us }: Direction, seconds: number): object {
  const ns = (factor: number): number => Math.round(latency_us * factor * 1000)
  return {
    io_bytes: Math.round(bytes_per_second * seconds),
    bw_bytes: Math.round(bytes_per_second),
    bw: Math.round(bytes_per_second / 1024),
    iops,
    runtime: seconds * 1000,
    total_ios: Math.round(iops * seconds),
    lat_ns: {
      mean: ns(1),
      percentile: { '50.000000': ns(0.92), '99.000000': ns(2.4), '99.900000': ns(5.5) },
    },
  }
}

function progress(second: number, seconds: number, read: Direction, write: Direction): string {
  const mib = ({ bytes_per_second }: Direction): string => `${(bytes_per_second / 2 ** 20).toFixed(1)}MiB/s`
  const thousands = ({ iops }: Direction): string => `${(iops / 1000).toFixed(1)}k`
  const shown = (of: (one: Direction) => string): string =>
    [read.iops > 0 ? `r=${of(read)}` : '', write.iops > 0 ? `w=${of(write)}` : ''].filter((one) => one !== '').join(',')
  const percent = ((second / seconds) * 100).toFixed(1)
  return `Jobs: 1 (f=1): [${percent}%][${shown(mib)}][${shown(thousands)} IOPS][eta 00m:${seconds - second}s]`
}

function bytesOf(text: string): number {
  const [, count = '4096', unit = ''] = /^(\d+)([kmg]?)/i.exec(text) ?? []
  return Number(count) * (UNITS[unit.toLowerCase()] ?? 1)
}

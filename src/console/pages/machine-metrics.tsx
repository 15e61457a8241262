// What a virtual machine used: a drawn line for each measure, and the same numbers as a table. Gaps are gaps.
import { useState } from 'react'
import type { VmSample } from '#src/contract/compute/metrics.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { useCall } from '../api/queries.ts'
import { Time } from '../lists/value.tsx'
import { Loaded } from './panel.tsx'

type Measure = Exclude<keyof VmSample, 'at'>

const CHARTS: readonly { title: string; unit: string; measures: readonly [Measure, string][] }[] = [
  { title: 'CPU', unit: '%', measures: [['cpu_used_percent', 'used of all cores']] },
  { title: 'Disk', unit: 'operations', measures: [['disk_io_read', 'read'], ['disk_io_write', 'written']] },
  { title: 'Network', unit: 'KiB', measures: [['network_kbs_read', 'received'], ['network_kbs_write', 'sent']] },
  { title: 'Memory', unit: 'KiB', measures: [['memory_kbs', 'has'], ['memory_internal_free_kbs', 'free inside']] },
] // biome-ignore format: a table
const HOURS = [1, 6, 12]
const HOUR_MS = 3_600_000

export function Metrics({ machine }: { machine: VirtualMachine }) {
  const [hours, setHours] = useState(1)
  // One moment for each range that is chosen: the end does not move while somebody looks.
  const [end, setEnd] = useState(() => Date.now())
  const start_date = new Date(end - hours * HOUR_MS).toISOString()
  const query = useCall('vmUsageGet', {
    body: { virtual_machine_id: machine.id, start_date, end_date: new Date(end).toISOString() },
  })
  return (
    <>
      <div className="actions" role="group" aria-label="Range">
        {HOURS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === hours}
            onClick={() => {
              setHours(one)
              setEnd(Date.now())
            }}
          >
            {one} h
          </button>
        ))}
      </div>
      <Loaded query={query}>
        {({ samples }) =>
          samples.length === 0 ? (
            <p>The platform has no samples of this time: it takes them while the machine runs.</p>
          ) : (
            <>
              <div className="panels">
                {CHARTS.map((chart) => (
                  <Chart key={chart.title} {...chart} samples={samples} />
                ))}
              </div>
              <SampleTable samples={samples} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

const WIDTH = 400
const HEIGHT = 120
/** More than this many usual intervals without a sample is a gap. */
const GAP_INTERVALS = 3

type ChartProps = (typeof CHARTS)[number] & { samples: readonly VmSample[] }

function Chart({ title, unit, measures, samples }: ChartProps) {
  const timed = samples.flatMap((sample) => (sample.at === null ? [] : [{ sample, at: Date.parse(sample.at) }]))
  const first = timed[0]?.at ?? 0
  const last = timed.at(-1)?.at ?? 0
  const values = measures.flatMap(([name]) => samples.flatMap((sample) => sample[name] ?? []))
  const most = Math.max(...values, unit === '%' ? 100 : 1)
  const interval = (last - first) / Math.max(timed.length - 1, 1)
  const pathOf = (name: Measure): string => {
    let before: number | undefined
    return timed
      .flatMap(({ sample, at }) => {
        const value = sample[name]
        if (value === null) return []
        const joined = before !== undefined && at - before <= interval * GAP_INTERVALS
        before = at
        const x = last === first ? WIDTH / 2 : ((at - first) / (last - first)) * WIDTH
        return [`${joined ? 'L' : 'M'}${x.toFixed(1)} ${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`]
      })
      .join(' ')
  }
  const latest = (name: Measure): string => {
    const value = samples.findLast((sample) => sample[name] !== null)?.[name] ?? null
    return value === null ? '–' : inUnit(value, unit)
  }
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <svg viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`} className="chart" role="img" aria-label={`${title} over time`}>
        {measures.map(([name], at) => (
          <path key={name} d={pathOf(name)} data-line={at} />
        ))}
      </svg>
      <p className="help">
        {measures.map(([name, words]) => `${words} ${latest(name)}`).join(', ')} at the end; the top is{' '}
        {inUnit(most, unit)}
      </p>
    </section>
  )
}

const GIB_IN_KIB = 1024 ** 2

function inUnit(value: number, unit: string): string {
  if (unit === 'KiB' && value >= GIB_IN_KIB) return `${(value / GIB_IN_KIB).toFixed(1)} GiB`
  return unit === 'KiB' && value >= 1024 ? `${(value / 1024).toFixed(1)} MiB` : `${value.toFixed(1)} ${unit}`
}

function SampleTable({ samples }: { samples: readonly VmSample[] }) {
  const measures = CHARTS.flatMap((chart) =>
    chart.measures.map(([name, words]) => ({ name, words: `${chart.title} ${words}` })),
  )
  return (
    <details>
      <summary>{samples.length} samples as a table</summary>
      <div className="table" tabIndex={0} role="region" aria-label="Samples">
        <table>
          <thead>
            <tr>
              <th scope="col">at</th>
              {measures.map(({ name, words }) => (
                <th key={name} scope="col">
                  {words}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {samples.map((sample, index) => (
              <tr key={index}>
                <td data-title="at">{sample.at === null ? '–' : <Time at={sample.at} />}</td>
                {measures.map(({ name, words }) => (
                  <td key={name} data-title={words}>
                    {sample[name]?.toFixed(1) ?? '–'}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

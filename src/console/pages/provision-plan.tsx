// What a new machine will take: room in each cluster and limits of the tenant, before and after. An estimate: the service decides.
import type { CapacityRow } from '#src/contract/discovery.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import type { Texts } from '../form/values.ts'
import { amount } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Loaded } from './panel.tsx'

interface Size {
  cores: number | null
  mhz: number | null
  memory_mb: number | null
}

export function ProvisionPlan({ texts }: { texts: Texts }) {
  const me = useMe()
  const offerings = useCall('serviceOfferingList', { query: { page_size: 500 } }).data?.service_offerings
  const offering = offerings?.find(({ id }) => id === texts.service_offering_id)
  const number = (name: string): number | null => (texts[name] ? Number(texts[name]) : null)
  const size: Size = {
    cores: offering?.cpu_cores ?? number('cpu_cores'),
    mhz: offering?.cpu_speed_mhz ?? number('cpu_speed_mhz'),
    memory_mb: offering?.memory_mb ?? number('memory_mb'),
  }
  const tenant_id = me.tenant_id ?? texts.domain_id ?? ''
  const closed = whyNot(me, 'discoveryCapacityList')
  return (
    <aside className="panel" aria-label="Plan">
      <h2>What will happen</h2>
      <ul className="findings">
        <li>
          <strong>{texts.name || 'A machine'}</strong> is made{texts.start === 'false' ? '.' : ', and started.'}
        </li>
        <li>
          {size.cores === null && size.memory_mb === null
            ? 'What it takes depends on the offering.'
            : `It takes ${size.cores ?? '–'} cores and ${size.memory_mb === null ? '–' : amount('memory_mb', size.memory_mb)} of memory.`}
        </li>
      </ul>
      <h3>Room, estimated</h3>
      {closed !== null && <p className="help">{closed}</p>}
      {closed === null && texts.zone_id && <Room zone_id={texts.zone_id} size={size} />}
      {tenant_id !== '' && <Limits tenant_id={tenant_id} size={size} />}
    </aside>
  )
}

const MEMORY = 0
const CPU = 1
const MIB = 1024 * 1024

function Room({ zone_id, size }: { zone_id: string; size: Size }) {
  const query = useCall('discoveryCapacityList', { query: { zone_id, page_size: 500 } })
  return (
    <Loaded query={query}>
      {({ capacities }) => {
        const rows = capacities.filter(({ tag, type }) => tag === null && (type === MEMORY || type === CPU))
        // Some platforms tell it for clusters, all for zones.
        const clusters = rows.filter(({ cluster_id }) => cluster_id !== null)
        return (
          <ul className="findings">
            {(clusters.length > 0 ? clusters : rows).map((row) => (
              <li key={`${row.cluster_id} ${row.type}`}>
                <Bar row={row} more={needOf(row, size)} />
              </li>
            ))}
          </ul>
        )
      }}
    </Loaded>
  )
}

function needOf({ type }: CapacityRow, { cores, mhz, memory_mb }: Size): number | null {
  if (type === MEMORY) return memory_mb === null ? null : memory_mb * MIB
  return cores === null || mhz === null ? null : cores * mhz
}

function Bar({ row, more }: { row: CapacityRow; more: number | null }) {
  const { cluster_name, zone_name, type, used, total } = row
  const what = `${cluster_name ?? zone_name ?? ''} ${type === MEMORY ? 'memory' : 'CPU'}`
  if (used === null || total === null || total === 0) return <>{what}: not known</>
  const percent = (amount: number): string => `${Math.round((amount / total) * 100)} %`
  const after = used + (more ?? 0)
  return (
    <>
      {what} <meter max={total} value={Math.min(after, total)} aria-label={what} /> {percent(used)}
      {more !== null && ` becomes ${percent(after)}`}
      {after > total && <span className="error"> There is no room.</span>}
    </>
  )
}

const LIMITS = [
  ['instances', 'virtual machines', () => 1],
  ['cpus', 'cores', ({ cores }: Size) => cores],
  ['memory', 'MiB of memory', ({ memory_mb }: Size) => memory_mb],
] as const

function Limits({ tenant_id, size }: { tenant_id: string; size: Size }) {
  const query = useCall('tenantLimitsGet', { params: { id: tenant_id } })
  const machines = useCall('vmList', { body: { domain_id: tenant_id, page_size: 500 } }).data
  // What more than one page of machines uses is not added up here.
  const all = machines !== undefined && machines.count <= machines.virtual_machines.length ? machines : undefined
  const sum = (field: 'cpu_cores' | 'memory_mb'): number | undefined =>
    all?.virtual_machines.reduce((total, machine) => total + (machine[field] ?? 0), 0)
  const used = { instances: machines?.count, cpus: sum('cpu_cores'), memory: sum('memory_mb') }
  return (
    <>
      <h3>Limits of the tenant</h3>
      <Loaded query={query}>
        {(limits) => (
          <ul className="findings">
            {LIMITS.map(([name, words, moreOf]) => {
              const limit = limits[name]
              const after = used[name] === undefined ? undefined : used[name] + (moreOf(size) ?? 0)
              return (
                <li key={name}>
                  {words}: {used[name] ?? '–'} becomes {after ?? '–'} of{' '}
                  {limit === null ? 'what is not known' : limit === -1 ? 'any number' : limit}
                  {limit !== null && limit !== -1 && after !== undefined && after > limit && (
                    <span className="error"> This is over the limit.</span>
                  )}
                </li>
              )
            })}
          </ul>
        )}
      </Loaded>
    </>
  )
}

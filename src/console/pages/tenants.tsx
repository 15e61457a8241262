// Tenants, and one of them: its limits as bars beside what it uses, its range, and what can be done with it.
import { Link } from 'wouter'
import { useCall } from '../api/queries.ts'
import { columnOf } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { useFilter } from '../lists/filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { OperationButtons } from './operation-buttons.tsx'
import { Facts, Loaded, Panel } from './panel.tsx'

const COLUMNS = [
  columnOf('name'),
  columnOf('is_active', 'active'),
  columnOf('flag'),
  columnOf('source'),
  columnOf('dedicated_ip_start', 'addresses from'),
  columnOf('dedicated_ip_end', 'to'),
  columnOf('created_at', 'since'),
]

export function TenantsPage() {
  const [filter, setFilter] = useFilter()
  return (
    <>
      <h1>Tenants</h1>
      <FilterBar filter={filter} set={setFilter} fields={[{ name: 'keyword', label: 'Name' }]} />
      <OperationButtons operations={[{ operation: 'tenantCreate', label: 'New tenant' }]} />
      <Rows
        label="Tenants"
        operation="tenantList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={({ id }) => `/tenants/${String(id)}`}
        empty={<p>{Object.keys(filter).length > 0 ? 'No tenant matches.' : 'There is no tenant yet.'}</p>}
      />
    </>
  )
}

export function TenantPage({ id }: { id: string }) {
  const query = useCall('tenantGet', { params: { id } })
  const network = useCall('tenantNetworkGet', { params: { id } })
  const given = { id }
  return (
    <>
      <h1>{query.data?.name ?? 'Tenant'}</h1>
      <OperationButtons
        operations={[
          { operation: 'tenantLimitsSet', label: 'Change limits', given },
          { operation: 'tenantNetworkDedicate', label: 'Dedicate addresses', given },
          { operation: 'tenantStatusSet', label: 'Lock or unlock', given },
          { operation: 'tenantAuthSourceSet', label: 'Change sign-in', given },
        ]}
      />
      <Limits id={id} />
      <Panel title="Record" query={query}>
        {(tenant) => <Facts thing={tenant} />}
      </Panel>
      <Panel title="Public addresses" query={network}>
        {(range) => <Facts thing={range} />}
      </Panel>
    </>
  )
}

const COUNTED = [
  ['instances', 'virtual machines', 'vmList'],
  ['volumes', 'disks', 'volumeList'],
  ['networks', 'networks', 'guestNetworkList'],
] as const

/** What a list counts is measured; of the other limits only the limit is known. */
function Limits({ id }: { id: string }) {
  const limits = useCall('tenantLimitsGet', { params: { id } })
  return (
    <Panel title="Limits" query={limits}>
      {(answer) => (
        <ul className="findings">
          {COUNTED.map(([name, words, operation]) => (
            <li key={name}>
              <Used words={words} operation={operation} id={id} limit={answer[name]} />
            </li>
          ))}
          {Object.entries(answer)
            .filter(([name, value]) => typeof value === 'number' && !COUNTED.some(([counted]) => counted === name))
            .map(([name, value]) => (
              <li key={name}>
                {name.replaceAll('_', ' ')}: {value === -1 ? 'no limit' : Number(value).toLocaleString('en-GB')}
              </li>
            ))}
        </ul>
      )}
    </Panel>
  )
}

interface UsedProps {
  words: string
  operation: (typeof COUNTED)[number][2]
  id: string
  limit: number | null
}

function Used({ words, operation, id, limit }: UsedProps) {
  const query = useCall(operation, { body: { domain_id: id, page_size: 1 } })
  const link = operation === 'vmList' ? <Link href={`/vms?domain_id=${id}`}>{words}</Link> : words
  return (
    <>
      <Loaded query={query}>
        {({ count }) => (
          <>
            {link}{' '}
            {limit !== null && limit > 0 && (
              <meter min={0} max={limit} high={limit * 0.8} value={Math.min(count, limit)} aria-label={words} />
            )}{' '}
            {count} of {limit === null ? 'what is not known' : limit === -1 ? 'any number' : limit}
          </>
        )}
      </Loaded>
    </>
  )
}

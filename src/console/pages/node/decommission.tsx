// Taking a node out of service: what a preflight found with exact numbers, the names of what is lost typed one by one, then its start.
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { DecommissionPreflight } from '#src/contract/nodes/decommission-preflight.ts'
import { call } from '../../api/call.ts'
import { useCall } from '../../api/queries.ts'
import { whyNot } from '../../api/why-not.ts'
import { Problem } from '../../form/problem.tsx'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { State, Time } from '../../lists/value.tsx'
import { useMe } from '../../session/session.ts'
import { Facts, Loaded, Panel } from '../panel.tsx'
import { Missing } from './asked-node.tsx'
import { hrefOfNode, type NodeProps } from './node.ts'

const WIPES = { full: 'all known disks', data: 'disks of the distributed store', none: 'no disk' } as const
interface Wish {
  wipe: keyof typeof WIPES
  force: boolean
  accept: string[]
}

export function Decommission({ node }: NodeProps) {
  const why = whyNot(useMe(), 'decommissionPreflight')
  if (why !== null) return <p>{why}</p>
  return (
    <>
      <Preflight bmc={node.bmc_ip} />
      <Evidence bmc={node.bmc_ip} />
    </>
  )
}

function Preflight({ bmc }: { bmc: string }) {
  const [wish, setWish] = useState<Wish>({ wipe: 'full', force: false, accept: [] })
  // A name of its own: many sources are asked, so it is asked when somebody means to, and not whenever a job of a node moves.
  const query = useQuery({
    queryKey: ['plan of decommission', bmc, wish],
    queryFn: ({ signal }) => call('decommissionPreflight', { params: { nodeIP: bmc }, body: wish }, { signal }),
    gcTime: 0,
  })
  return (
    <section aria-label="Preflight">
      <h2>What would happen</h2>
      <div className="filter">
        <label>
          Wipe
          <select value={wish.wipe} onChange={({ target }) => setWish({ ...wish, wipe: target.value as Wish['wipe'] })}>
            {Object.entries(WIPES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label className="inline">
          <input
            type="checkbox"
            checked={wish.force}
            onChange={({ target }) => setWish({ ...wish, force: target.checked })}
          />
          Machines that cannot move may be destroyed
        </label>
        <button type="button" onClick={() => void query.refetch()}>
          Check again
        </button>
      </div>
      <Loaded query={query}>
        {(found) => (
          <>
            <Found found={found} accept={(name) => setWish({ ...wish, accept: [...wish.accept, name] })} />
            <Start key={found.fingerprint} bmc={bmc} wish={wish} found={found} />
          </>
        )}
      </Loaded>
    </section>
  )
}

const CHECK_COLUMNS = [columnOf('name', 'check'), columnOf('status'), columnOf('message', 'found')]
const GIB = 1024 ** 3
const inGib = (bytes: number | null): string | null => (bytes === null ? null : `${(bytes / GIB).toFixed(1)} GiB`)

function Found({ found, accept }: { found: DecommissionPreflight; accept(name: string): void }) {
  const lists = {
    'Machines that are destroyed': found.destroyed_vm_names,
    'Disks that are wiped': found.wiped_disks,
    'Addresses that are released': found.held_addresses,
    'What is done, in order': found.steps,
  }
  return (
    <>
      <p>
        <State text={found.can_proceed ? 'ready' : 'failed'} />{' '}
        {found.can_proceed
          ? 'It can be taken out of service.'
          : 'A check has failed: it cannot be taken out of service so.'}
      </p>
      <Table
        label="Checks"
        rows={found.checks}
        columns={CHECK_COLUMNS}
        actions={({ name, status }) =>
          status === 'fail' && (
            <button type="button" onClick={() => accept(String(name))}>
              Accept
            </button>
          )
        }
      />
      <Facts
        thing={{
          machines: found.vm_count,
          of_which_can_move: found.migratable_vm_count,
          of_which_cannot: found.non_migratable_vm_count,
          system_services_and_routers: found.system_vm_count,
          of_which_routers: found.router_count,
          hosts_that_take_machines: found.migration_targets,
          memory_that_moves: inGib(found.mem_demand_bytes),
          memory_free_elsewhere: inGib(found.free_mem_bytes),
          cpu_that_moves_mhz: found.cpu_demand_mhz,
          cpu_free_elsewhere_mhz: found.free_cpu_mhz,
        }}
      />
      <Missing unavailable={found.unavailable} />
      {Object.entries(lists).map(([title, names]) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          {names.length === 0 ? (
            <p>None.</p>
          ) : (
            <ol>
              {names.map((name) => (
                <li key={name}>{name}</li>
              ))}
            </ol>
          )}
        </section>
      ))}
    </>
  )
}

interface StartProps {
  bmc: string
  wish: Wish
  found: DecommissionPreflight
}

function Start({ bmc, wish, found }: StartProps) {
  const me = useMe()
  const [, go] = useLocation()
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<unknown>()
  // One for what was found: a second click is the same decommission.
  const [key] = useState(() => crypto.randomUUID())
  const why = whyNot(me, 'decommissionStart') ?? whyNotSo(found, wish)
  // Machines by their names; disks by the address of the BMC, for nobody types serial numbers with care.
  const asked = [...found.destroyed_vm_names, ...(found.wiped_disks.length === 0 ? [] : [bmc])]
  const confirmed = asked.every((name) => typed[name]?.trim() === name)
  const start = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (why !== null || !confirmed) return
    const { fingerprint, destroyed_vm_names: vms } = found
    const body = { ...wish, acknowledge: { fingerprint, vms }, ...(reason !== '' && { reason }) }
    try {
      await call('decommissionStart', { params: { nodeIP: bmc }, body }, { key })
      go(hrefOfNode(bmc, 'life'))
    } catch (error) {
      setProblem(error)
    }
  }
  return (
    <form className="operation" onSubmit={(event) => void start(event)} noValidate>
      <p className="help">
        These findings, <code>{found.fingerprint}</code>, are good until <Time at={found.expires_at} />.
      </p>
      {why === null &&
        asked.map((name) => (
          <label key={name}>
            {name === bmc ? `${found.wiped_disks.length} disks are wiped. Type` : 'This machine is destroyed. Type'}{' '}
            <strong>{name}</strong>
            <input
              value={typed[name] ?? ''}
              autoComplete="off"
              onChange={({ target }) => setTyped((before) => ({ ...before, [name]: target.value }))}
            />
          </label>
        ))}
      <label>
        Reason
        <input value={reason} maxLength={500} onChange={({ target }) => setReason(target.value)} />
      </label>
      {problem !== undefined && <Problem error={problem} />}
      <div className="actions">
        <button type="submit" className="danger" aria-disabled={why !== null || !confirmed}>
          Decommission
          {!(why === null && confirmed) && <small>{why ?? 'Type each name above.'}</small>}
        </button>
      </div>
    </form>
  )
}

function whyNotSo(found: DecommissionPreflight, { force }: Wish): string | null {
  if (!found.can_proceed) return 'A check has failed.'
  return found.requires_force && !force ? 'Machines would be destroyed: say above that they may be.' : null
}

/** Of the latest decommission; without one there is nothing to show. */
function Evidence({ bmc }: { bmc: string }) {
  const jobs = useCall('jobList', { query: { node_ip: bmc, job_type: 'decommission', page_size: 1 } })
  const was_begun = (jobs.data?.count ?? 0) > 0
  const evidence = useCall('decommissionEvidence', { params: { nodeIP: bmc } }, was_begun)
  const log = useCall('decommissionLogs', { params: { nodeIP: bmc } }, was_begun)
  if (!was_begun) return null
  return (
    <>
      <Panel title="Evidence of the wipe" query={evidence}>
        {({ verdict, asked_by, started_at, finished_at, expected_disks, outstanding, chain_head }) => (
          <>
            <p>
              <State text={verdict} />
            </p>
            <Facts
              thing={{ asked_by, started_at, finished_at, chain_head, expected_disks: expected_disks.join(', ') }}
            />
            {outstanding.length > 0 && (
              <>
                <h3>Left to do by hand</h3>
                <ul>
                  {outstanding.map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                </ul>
              </>
            )}
          </>
        )}
      </Panel>
      <Panel title="Audit log" query={log}>
        {({ content, truncated }) => (
          <>
            {truncated && <p className="help">Earlier lines are left out.</p>}
            <pre tabIndex={0} role="region" aria-label="Lines of the audit log">
              {content}
            </pre>
          </>
        )}
      </Panel>
    </>
  )
}

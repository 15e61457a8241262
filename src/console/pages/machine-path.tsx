// The way to a virtual machine, drawn hop by hop, each with its state and since when that is known; where a hop is down the line breaks.
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { State, Time } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'

interface Hop {
  name: string
  what: ReactNode
  /** Undefined: nobody tells it. */
  state?: string | undefined
  broken?: boolean
  known_at?: number
}

export function PathTo({ machine }: { machine: VirtualMachine }) {
  const nic = machine.nics.find(({ is_default }) => is_default === true) ?? machine.nics[0]
  const network_id = nic?.network_id ?? ''
  const me = useMe()
  const may_routers = whyNot(me, 'routerList') === null
  const may_hosts = whyNot(me, 'hostList') === null
  const routers = useCall('routerList', { body: { network_id, page_size: 10 } }, may_routers && network_id !== '')
  const networks = useCall('guestNetworkList', { body: { page_size: 500 } }, network_id !== '')
  const nics = useCall('vmNicList', { body: { virtual_machine_id: machine.id, page_size: 500 } })
  if (nic === undefined) return <p>It has no NIC, so nothing leads to it.</p>
  const network = networks.data?.guest_networks.find(({ id }) => id === network_id)
  const mtu = nics.data?.nics.find(({ id }) => id === nic.id)?.mtu
  const hops: Hop[] = [
    publicHop(machine),
    ...routerHops(routers.data?.routers, routers.dataUpdatedAt),
    {
      name: 'Network',
      what: `${nic.network_name ?? network_id} ${network?.cidr ?? ''}`,
      state: network?.state ?? undefined,
      broken: network !== undefined && !/^(Implemented|Allocated|Setup)$/.test(network.state),
      known_at: networks.dataUpdatedAt,
    },
    {
      name: 'Host',
      what: hostOf(machine, may_hosts),
      broken: machine.host_id === null && machine.state !== 'Running',
    },
    { name: 'NIC', what: `${nic.ip_address ?? 'no address'}, ${nic.mac_address}${mtu ? `, MTU ${mtu}` : ''}` },
    { name: 'Guest', what: machine.name, state: machine.state, broken: machine.state !== 'Running' },
  ]
  return (
    <section aria-label="Path">
      <h2>The way to it</h2>
      <ol className="path">
        {hops.map(({ name, what, state, broken = false, known_at }, at) => (
          <li key={at} data-broken={broken}>
            <strong>{name}</strong>
            <span>{what}</span>
            {state !== undefined && <State text={state} />}
            {broken && <span className="error">The line breaks here.</span>}
            {known_at !== undefined && known_at > 0 && (
              <span className="help">
                as of <Time at={new Date(known_at).toISOString()} />
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

/** Hosts have a page for those who run the platform. */
function hostOf({ host_id, host_name, state }: VirtualMachine, may_open: boolean): ReactNode {
  if (host_id === null) return state === 'Running' ? 'not known' : 'on none'
  return may_open ? <Link href={`/hosts/${host_id}`}>{host_name}</Link> : host_name
}

function publicHop({ public_ip_address }: VirtualMachine): Hop {
  return public_ip_address === null
    ? { name: 'Outside', what: 'no static NAT; forwards of the network’s addresses may lead here' }
    : { name: 'Public address', what: `${public_ip_address}, static NAT` }
}

type Router = { name: string; state: string; health_checks_failed: boolean | null }

function routerHops(routers: readonly Router[] | undefined, known_at: number): Hop[] {
  if (routers === undefined) return []
  return routers.map(({ name, state, health_checks_failed }) => ({
    name: 'Router',
    what: health_checks_failed === true ? `${name}, a check of its services failed` : name,
    state,
    broken: state !== 'Running',
    known_at,
  }))
}

// Ports of a virtual machine that are reached from outside, and a form for one more: its address, the forward, and whether it stands.
import { useQueries } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { PublicIp } from '#src/contract/ddi/public-ips.ts'
import type { PortForwarding } from '#src/contract/network/port-forwarding.ts'
import { call, CallError } from '../api/call.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import { columnOf } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { useMe } from '../session/session.ts'
import { Loaded } from './panel.tsx'

interface Props {
  machine: VirtualMachine
}

/** The address of the network that holds the machine's default NIC; forwards of other networks have their own page. */
export function Published({ machine }: Props) {
  const network_id = (machine.nics.find(({ is_default }) => is_default === true) ?? machine.nics[0])?.network_id ?? null
  const query = useCall(
    'publicIpList',
    { query: { network_id: network_id ?? '', page_size: 500 } },
    network_id !== null,
  )
  if (network_id === null) return null
  return (
    <section aria-label="Published">
      <h2>Published</h2>
      <Loaded query={query}>
        {({ data }) => {
          // Static NAT takes a whole address: no port of it can lead elsewhere.
          const addresses = data.filter(({ associated }) => !associated)
          return (
            <>
              <Forwards machine={machine} addresses={addresses.filter(({ has_rules }) => has_rules !== false)} />
              <Publish machine={machine} network_id={network_id} addresses={addresses} />
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

const COLUMNS = [
  columnOf('outside', 'from outside'),
  columnOf('inside', 'to the machine'),
  columnOf('protocol'),
  columnOf('state'),
]

function Forwards({ machine, addresses }: Props & { addresses: readonly PublicIp[] }) {
  const pages = useQueries({
    queries: addresses.map(({ id }) => {
      const body = { public_ip_id: id, page_size: 500 }
      return {
        queryKey: ['portForwardingList', { body }],
        queryFn: ({ signal }: { signal: AbortSignal }) => call('portForwardingList', { body }, { signal }),
      }
    }),
  })
  const failed = pages.find(({ error }) => error !== null)
  const rules = pages.flatMap(({ data }) => data?.port_forwarding_rules ?? [])
  const rows = rules.filter(({ virtual_machine_id }) => virtual_machine_id === machine.id).map(rowOf)
  if (failed !== undefined) return <Problem error={failed.error} retry={() => void failed.refetch()} />
  if (pages.some(({ isPending }) => isPending)) return <p className="waiting">Loading …</p>
  return <Table label="Published ports" rows={rows} columns={COLUMNS} empty="No port of it is reached from outside." />
}

function rowOf(rule: PortForwarding) {
  const ports = (first: number | null, last: number | null): string =>
    first === last ? String(first ?? '–') : `${first}-${last}`
  return {
    outside: `${rule.public_ip_address ?? '–'}:${ports(rule.public_port_start, rule.public_port_end)}`,
    inside: `${rule.virtual_machine_ip_address ?? '–'}:${ports(rule.private_port_start, rule.private_port_end)}`,
    protocol: rule.protocol,
    state: rule.state,
  }
}

interface PublishProps extends Props {
  network_id: string
  addresses: readonly PublicIp[]
}

const NEW = 'new'
const EMPTY = { address: '', protocol: 'tcp', public_port: '', private_port: '', firewall: 'open' }

function Publish({ machine, network_id, addresses }: PublishProps) {
  const why = whyNot(useMe(), 'portForwardingCreate')
  const { given, set, said, problem, busy, send } = usePublishing(machine, network_id)
  const form = useRef<HTMLFormElement>(null)
  const closed = why ?? (given.public_port === '' ? 'Name the port.' : null)
  const address = given.address || (addresses[0]?.id ?? NEW)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (closed === null && !busy) void send(address)
  }
  useEffect(() => {
    if (problem !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [problem])
  const port = (name: 'public_port' | 'private_port', label: string, placeholder: string) => (
    <label>
      {label}
      <input
        type="number"
        min={1}
        max={65_535}
        name={name}
        placeholder={placeholder}
        value={given[name]}
        aria-invalid={problem instanceof CallError && problem.fields.some(({ path }) => path === `body.${name}`)}
        onChange={({ target }) => set(name, target.value)}
      />
    </label>
  )
  return (
    <form ref={form} className="filter" aria-label="Publish a port" onSubmit={submit} noValidate>
      <label>
        Address
        <select value={address} onChange={({ target }) => set('address', target.value)}>
          {addresses.map(({ id, ip_address, source_nat }) => (
            <option key={id} value={id}>
              {ip_address} {source_nat === true && '(of the network)'}
            </option>
          ))}
          <option value={NEW}>a new one</option>
        </select>
      </label>
      <label>
        Protocol
        <select value={given.protocol} onChange={({ target }) => set('protocol', target.value)}>
          <option>tcp</option>
          <option>udp</option>
        </select>
      </label>
      {port('public_port', 'Port', '')}
      {port('private_port', 'Port of the machine', 'the same')}
      <label>
        Firewall
        <select value={given.firewall} onChange={({ target }) => set('firewall', target.value)}>
          <option value="open">lets everybody in</option>
          <option value="as it is">stays as it is</option>
        </select>
      </label>
      <button type="submit" className="primary" aria-disabled={closed !== null || busy}>
        Publish
        {closed !== null && <small> {closed}</small>}
      </button>
      <span role="status">{said}</span>
      {problem !== undefined && <Problem error={problem} />}
    </form>
  )
}

function usePublishing(machine: VirtualMachine, network_id: string) {
  const [given, setGiven] = useState(EMPTY)
  const [said, setSaid] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  // A second click, or an answer that was lost, makes neither a second rule nor a second address.
  const [key, setKey] = useState(() => crypto.randomUUID())
  const change = (next: Partial<typeof EMPTY>): void => {
    setGiven((before) => ({ ...before, ...next }))
    setKey(crypto.randomUUID())
  }
  const send = async (address: string): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const public_ip_id = address === NEW ? await acquire(machine, network_id, `${key}-address`) : address
      // It is the network's from here on, also where the rule is refused.
      setGiven((before) => ({ ...before, address: public_ip_id }))
      const public_port = Number(given.public_port)
      const body = {
        public_ip_id, network_id, public_port,
        virtual_machine_id: machine.id,
        open_firewall: given.firewall === 'open',
        protocol: given.protocol as 'tcp' | 'udp',
        private_port: given.private_port === '' ? public_port : Number(given.private_port),
      } // biome-ignore format: one record
      const answer = await call('portForwardingCreate', { body }, { key })
      setSaid('message' in answer ? answer.message : 'It stands.')
      change({ ...EMPTY, address: public_ip_id })
    } catch (refusal) {
      setProblem(refusal)
    }
    setBusy(false)
  }
  return { given, set: (name: keyof typeof EMPTY, text: string) => change({ [name]: text }), said, problem, busy, send }
}

async function acquire({ zone_id }: VirtualMachine, network_id: string, key: string): Promise<string> {
  const { data } = await call('publicIpAcquire', { body: { zone_id: zone_id ?? '', network_id } }, { key })
  return data.id
}

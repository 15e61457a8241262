// Reads a request for an installation: every mistake in it is named at once, and what it leaves open is filled in.
import ipaddr from 'ipaddr.js'
import type { KvmProvisionRequest } from '#src/contract/kvm/provision.ts'
import type { FieldError } from '#src/contract/problem.ts'
import type { AllowedNetworks } from '#src/drivers/allowed-networks.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { NodeDiskRow, NodeNicRow } from '#src/store/node-lifecycle.ts'
import type { ProvisionInput } from './provision-input.ts'

/** What is known of the machine and of its surroundings. */
export interface Known {
  disks: readonly NodeDiskRow[]
  nics: readonly NodeNicRow[]
  /** Addresses and lower-case names of other nodes. */
  taken: ReadonlySet<string>
  node_networks: AllowedNetworks
}

type Plan = Pick<
  ProvisionInput,
  'hostname' | 'username' | 'pool' | 'nic' | 'static_network' | 'prefix_id' | 'timezone' | 'wipe_existing'
> & { warnings: string[] }

/** How many disks each kind of pool needs. */
const DISKS = { single: [1, 1], mirror: [2, 64], raidz1: [3, 64], stripe: [2, 64] } as const
const SYSTEM_ACCOUNTS = new Set([
  'root', 'daemon', 'bin', 'sys', 'sync', 'games', 'man', 'lp', 'mail', 'news', 'uucp', 'proxy', 'www-data', 'backup', 'list', 'irc',
  'nobody', 'sshd', 'messagebus', '_apt',
]) // biome-ignore format: a list

export function planOf(body: KvmProvisionRequest, known: Known): Plan {
  const problems: FieldError[] = []
  const wrong = (field: string, message: string): void => void problems.push({ path: `body.${field}`, message })
  const nic = nicOf(body, known, wrong)
  const type = body.pool_type ?? 'single'
  const disks = disksOf(body, known, wrong)
  const warnings = type === 'stripe' ? ['In a stripe the loss of any disk loses the node.'] : []
  const hostname = hostnameOf(body, nic.mac)
  if (known.taken.has(hostname)) wrong('hostname', `${hostname} is the name of another node`)
  const username = body.os_username ?? 'admin'
  if (SYSTEM_ACCOUNTS.has(username)) wrong('os_username', `${username} is an account of the system`)
  const timezone = body.timezone ?? 'UTC'
  if (!isTimezone(timezone)) wrong('timezone', `${timezone} is no IANA time zone, such as Europe/Berlin`)
  const static_network = staticNetworkOf(body, known, wrong)
  const prefix_id = body.prefix_id ?? null
  if (prefix_id !== null && static_network !== null) wrong('prefix_id', 'prefix_id and static_ip exclude each other')
  if (body.boot_strategy === 'bmc' && body.vendor_bmc_ip === undefined)
    wrong('vendor_bmc_ip', 'boot_strategy bmc needs the BMC')
  if (body.boot_strategy === 'keys' && body.boot_keys === undefined)
    wrong('boot_keys', 'boot_strategy keys needs the keys')
  if (problems.length > 0) throw refused(problems)
  const wipe_existing = body.wipe_existing === true
  return {
    hostname,
    username,
    pool: { type, disks },
    nic,
    static_network,
    prefix_id,
    timezone,
    wipe_existing,
    warnings,
  }
}

function refused(errors: FieldError[]): ApiError {
  return new ApiError('INVALID_REQUEST', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    errors,
  })
}

type Wrong = (field: string, message: string) => void

function nicOf(
  { selected_nic, selected_nic_mac }: KvmProvisionRequest,
  { nics }: Known,
  wrong: Wrong,
): ProvisionInput['nic'] {
  const name = selected_nic ?? null
  if (selected_nic_mac !== undefined) return { mac: selected_nic_mac.toLowerCase().replaceAll('-', ':'), name }
  const fitting = name === null ? nics : nics.filter((one) => one.name === name)
  const [only] = fitting
  if (only !== undefined && fitting.length === 1) return { mac: only.permanent_mac, name: only.name }
  const seen = nics.map((one) => `${one.name} (${one.permanent_mac})`).join(', ')
  const hint = nics.length === 0 ? 'or reveal the machine first' : `one of ${seen}`
  wrong(name === null ? 'selected_nic_mac' : 'selected_nic', `name the network card by selected_nic_mac, ${hint}`)
  return { mac: '', name }
}

function hostnameOf({ hostname = '' }: KvmProvisionRequest, mac: string): string {
  return hostname === '' ? `node-${mac.slice(-8).replaceAll(':', '')}` : hostname.toLowerCase()
}

/** Names of the kernel move between boots: of a machine that was revealed they are read as the disks they were then. */
function disksOf(
  { pool_type = 'single', selected_disks = [] }: KvmProvisionRequest,
  { disks }: Known,
  wrong: Wrong,
): string[] {
  const chosen = selected_disks.map((given) => {
    const name = given.replace(/^\/dev\/(disk\/by-id\/)?/, '')
    if (!/^(sd[a-z]+|nvme\d+n\d+|vd[a-z]+|hd[a-z]+)$/.test(name)) return name
    const found = disks.find((disk) => disk.name === name)
    if (found === undefined)
      wrong('selected_disks', `${given} moves between boots; give its serial number, or reveal the machine first`)
    return found?.disk_id ?? name
  })
  if (chosen.length === 0 && pool_type === 'single') {
    const smallest = disks.toSorted((a, b) => Number(a.size_bytes ?? Infinity) - Number(b.size_bytes ?? Infinity))[0]
    if (smallest === undefined) wrong('selected_disks', 'name a disk, or reveal the machine first')
    else chosen.push(smallest.disk_id)
  }
  const [least, most] = DISKS[pool_type]
  if (new Set(chosen).size !== chosen.length) wrong('selected_disks', 'one disk is named twice')
  else if (chosen.length < least || chosen.length > most)
    wrong(
      'selected_disks',
      `${pool_type} needs ${least === most ? `${least} disk` : `${least} disks or more`}, not ${chosen.length}`,
    )
  return chosen
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

/** None where static_ip is left out or empty, as consoles send it. */
function staticNetworkOf(body: KvmProvisionRequest, known: Known, wrong: Wrong): ProvisionInput['static_network'] {
  const { static_ip = '', static_netmask = '', static_gateway = '', static_dns = '' } = body
  if (static_ip === '' && static_netmask === '' && static_gateway === '' && static_dns === '') return null
  const [ip, gateway] = [addressIn('static_ip', static_ip, wrong), addressIn('static_gateway', static_gateway, wrong)]
  if (ip === undefined || gateway === undefined) return null
  const bits = prefixLength(static_netmask, ip.kind())
  if (bits === undefined) {
    wrong('static_netmask', `${static_netmask} is no netmask, such as 255.255.255.0 or 24`)
    return null
  }
  const inside = ip.kind() === gateway.kind() && gateway.match([ip, bits] as never)
  if (!inside) wrong('static_gateway', `${static_gateway} is not in the network of ${static_ip}/${bits}`)
  if (!known.node_networks.has(ip.toString())) wrong('static_ip', `${static_ip} is not in installer.node_networks`)
  if (known.taken.has(ip.toString())) wrong('static_ip', `${static_ip} is the address of another node`)
  const dns = static_dns
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  if (dns.length > 3) wrong('static_dns', 'three name servers at most')
  for (const one of dns) addressIn('static_dns', one, wrong)
  return { address: `${ip.toString()}/${bits}`, gateway: gateway.toString(), dns }
}

function addressIn(field: string, text: string, wrong: Wrong): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)) return ipaddr.parse(text)
  wrong(field, text === '' ? 'static_ip, static_netmask and static_gateway go together' : `${text} is no IP address`)
  return undefined
}

function prefixLength(text: string, kind: 'ipv4' | 'ipv6'): number | undefined {
  const most = kind === 'ipv4' ? 32 : 128
  if (/^\d{1,3}$/.test(text)) return Number(text) > 0 && Number(text) <= most ? Number(text) : undefined
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) || kind !== 'ipv4') return undefined
  return ipaddr.IPv4.parse(text).prefixLengthFromSubnetMask() ?? undefined
}

// Which addresses may be contacted as BMCs. Nothing that a request, a record or a document says leads anywhere else.
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/** Addresses that are no BMC's unless a network within the same block is named: this machine, neighbours without routers, groups, metadata of clouds. */
const SPECIAL = [
  '0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '100.100.100.200/32', '168.63.129.16/32',
  '::/127', 'fe80::/10', 'ff00::/8', 'fd00:ec2::/32', '64:ff9b::/96',
].map((text) => ipaddr.parseCIDR(text)) // biome-ignore format: a list

export interface AllowedNetworks {
  has(address: string): boolean
  /** False: none are configured. */
  readonly any: boolean
}

/** Throws for a network that cannot be read. */
export function allowedNetworks(texts: readonly string[]): AllowedNetworks {
  const networks = texts.map(parseNetwork)
  return {
    any: networks.length > 0,
    has(text) {
      if (!ipaddr.isValid(text)) return false
      const address = plain(ipaddr.parse(text))
      const special = SPECIAL.find((block) => within(address, block))
      return networks.some(
        (network) =>
          within(address, network) &&
          (special === undefined || (within(network[0], special) && network[1] >= special[1])),
      )
    },
  }
}

export class NetworkError extends Error {
  override readonly name = 'NetworkError'
}

function parseNetwork(text: string): Network {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (!ipaddr.isValid(text)) throw new NetworkError(`${text} is no network; write 10.1.0.0/16 or one address`)
  const address = plain(ipaddr.parse(text))
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** An IPv4 address in the clothes of IPv6 is the same machine. */
function plain(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function within(address: Address, [base, bits]: Network): boolean {
  if (address instanceof ipaddr.IPv4 && base instanceof ipaddr.IPv4) return address.match(base, bits)
  return address instanceof ipaddr.IPv6 && base instanceof ipaddr.IPv6 && address.match(base, bits)
}

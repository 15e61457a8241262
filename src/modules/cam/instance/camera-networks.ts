// Which addresses a camera may have: what this service and the NVR are sent to must not be the service itself, or what stands
// behind it.
import { BlockList, isIPv6 } from 'node:net'
import { ApiError } from '#src/kernel/errors.ts'

/** Throws unless the address lies in one of the networks; `networks` are CIDRs. */
export function requireCameraAddress(ip: string, networks: readonly string[]): void {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4')
  }
  // An IPv4 address written as IPv6 is the IPv4 one.
  const plain = ip.replace(/^::ffff:(?=\d+\.)/i, '')
  if (list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')) return
  const message = `The address ${ip} is in none of the networks that cameras may be in: ${networks.join(', ')}. Add its network to cam.camera_networks.`
  throw new ApiError('CAM_ADDRESS_REFUSED', message)
}

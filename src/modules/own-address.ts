// Addresses of this service that BMCs and machines are sent to: never any other.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Config } from '#src/kernel/config.ts'
import { invalidField } from '#src/kernel/errors.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { Database } from '#src/store/database.ts'
import { allNodes } from '#src/store/nodes.ts'

interface OwnAddressDeps {
  config: Pick<Config, 'bmc'>
  database: Database
}

/** The address in one spelling. Throws, naming the field, unless it is one of ours. */
export async function requireOwnAddress(
  { config, database }: OwnAddressDeps,
  path: string,
  text: string,
): Promise<string> {
  const address = addressOf(path, text)
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((one) => one.address))
  if (own.includes(address) || config.bmc.image_addresses.includes(address)) return address
  const nodes = await allNodes(database.db)
  if (nodes.some(({ role, node_ip }) => role === 'management' && node_ip === address)) return address
  throw invalidField(path, `${address} is no address of this service; see bmc.image_addresses`)
}

/** Our own address on the way to another one. Nothing is sent. */
export async function addressTowards(address: string): Promise<string> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  try {
    socket.connect(9, address)
    await once(socket, 'connect')
    return socket.address().address
  } finally {
    socket.close()
  }
}

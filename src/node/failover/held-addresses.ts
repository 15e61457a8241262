// Which addresses this node has, and whether another machine answers for them as well.
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Host } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'

const Devices = Type.Array(
  Type.Object({ ifname: Type.String(), addr_info: Type.Array(Type.Object({ local: Type.Optional(Type.String()) })) }),
)

/** Address to the device that has it. Throws where the node cannot say. */
export async function addressesOf(host: Host): Promise<Map<string, string>> {
  const { stdout } = await host.run('ip', ['-j', 'address', 'show'])
  const devices = parseJson(stdout)
  if (!Value.Check(Devices, devices)) throw new Error('the list of addresses cannot be read')
  return new Map(
    devices.flatMap(({ ifname, addr_info }) =>
      addr_info.flatMap(({ local }): [string, string][] => (local === undefined ? [] : [[local, ifname]])),
    ),
  )
}

const PROBES = 2
/** `arping -D` ends with it when somebody answered. */
const ANSWERED = 1

/** Detection of duplicate addresses (RFC 5227) with the tool for it; null where an address could not be asked for. */
export async function answeredByOthers(
  host: Host,
  held: readonly string[],
  devices: ReadonlyMap<string, string>,
): Promise<string[] | null> {
  const answers = await Promise.all(
    held.map(async (address) => {
      // Neighbours of IPv6 are asked another way, and the kernel watches for duplicates itself.
      if (address.includes(':')) return null
      const args = ['-D', '-q', '-c', String(PROBES), '-w', String(PROBES), '-I', devices.get(address) ?? '', address]
      const { outcome, exit_code } = await host.run('arping', args)
      return outcome === 'exited' && (exit_code === 0 || exit_code === ANSWERED) ? exit_code === ANSWERED : null
    }),
  )
  if (answers.some((answer) => answer === null)) return null
  return held.filter((_address, at) => answers[at] === true)
}

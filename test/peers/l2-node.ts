// A node program for the raw-frame tests: probes inside a network namespace, or counts frame lengths with a second socket.
import { linuxHost } from '#src/kernel/host.ts'
import { createL2Probe } from '#src/node/mtu/l2-probe.ts'
import { readLinks } from '#src/node/mtu/links.ts'
import type { MtuL2ProbeRequest } from '#src/contract/network/mtu.ts'

export interface L2Program {
  request: MtuL2ProbeRequest
  /** Report the length of every frame that came in meanwhile. */
  sniff: boolean
}

const [, , argument = '{}'] = process.argv
const program: L2Program = JSON.parse(argument)
const host = linuxHost()
const probe = createL2Probe({ host, allowed_devices: ['mgmt0', 'eth1'] })
const lengths: number[] = []
const link = (await readLinks(host))?.find(({ name }) => name === program.request.device)
const sniffer = program.sniff && link !== undefined ? await host.rawSocket(link.ifindex) : undefined
sniffer?.onFrame((_frame, length) => lengths.push(length))
if (program.request.mode === 'listen') setTimeout(() => process.stderr.write('listening\n'), 50)
const result = await probe
  .run(program.request, new AbortController().signal)
  .catch((error: unknown) => ({ error: String(error) }))
sniffer?.close()
process.stdout.write(JSON.stringify({ ...result, lengths }))

// Takes the network snapshot of the namespace it is started in and prints it: one line of JSON for each line on stdin.
import { createInterface } from 'node:readline'
import { linuxHost } from '#src/kernel/host.ts'
import { parseNodeNetConfig } from '#src/node/net/config.ts'
import { netHandlers } from '#src/node/net/index.ts'
import { createNetSampler } from '#src/node/net/sampler.ts'
import type { Nic } from '#src/contract/network/eligible-nics.ts'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { NodeNet } from '#src/contract/network/node-net.ts'

export interface Probe {
  net: NodeNet
  nics: Nic[]
  alerts: NetworkAlert[]
}

const config = parseNodeNetConfig({
  uplinks: ['up0', 'up1'],
  roles: { br0: 'management' },
  fqdn: 'probe.example.internal',
  time_daemon_address: '127.0.0.1',
})

const host = linuxHost()
const samples = createNetSampler(host)
for await (const _line of createInterface({ input: process.stdin })) {
  await samples.tick()
  // A snapshot is shared for a second; each line asks for a new one.
  const { handlers } = netHandlers({ host, config, samples })
  const none = { params: undefined, query: {}, body: undefined }
  const net = await handlers.nodeSummary({ ...none, query: undefined }, undefined)
  const { interfaces } = await bodyOf(handlers.agentNicsEligible({ ...none, query: { include_all: true } }, undefined))
  const { alerts } = await bodyOf(handlers.agentNetworkAlerts({ ...none, query: undefined }, undefined))
  process.stdout.write(`${JSON.stringify({ net, nics: interfaces, alerts })}\n`)
}

async function bodyOf<T extends object>(
  answer:
    | T
    | { readonly answer_status: number; readonly body: T }
    | Promise<T | { readonly answer_status: number; readonly body: T }>,
): Promise<T> {
  const settled = await answer
  return 'answer_status' in settled ? settled.body : settled
}

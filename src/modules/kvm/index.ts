// Remote KVMs: the power of their machines.
import { kvmPower } from '#src/contract/kvm/power.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { createPowerStreams } from '../power-streams.ts'
import { kvmPowerGet, kvmPowerReader } from './power.ts'

export function kvmModule(parts: Parts): Module {
  const { bmcs, config, log } = parts
  const { watch_ms } = config.bmc
  const streams = createPowerStreams({ device: 'KVM', open: kvmPowerReader(bmcs), watch_ms, log })
  return {
    areas: [
      serve(kvmPower, {
        kvmPowerGet: kvmPowerGet(bmcs),
        kvmPowerStream: ({ query }, ctx) =>
          streams.watch({ bmc_ip: addressOf('query.bmc_ip', query.bmc_ip ?? ''), by: ctx.caller.username }),
      }),
    ],
    watchers: [{ stop: () => streams.stop() }],
  }
}

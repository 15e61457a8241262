// What a remote KVM says of the power of its machine.
import type { kvmPower } from '#src/contract/kvm/power.ts'
import type { Input, Output } from '#src/contract/route.ts'
import { type AtxState, readAtx } from '#src/drivers/pikvm/device.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { BmcAccess, BmcOrder } from '../bmc-access.ts'

type Routes = (typeof kvmPower)['routes']

export function kvmPowerGet(bmcs: Pick<BmcAccess, 'openKvm'>) {
  return async (
    { query }: Input<Routes['kvmPowerGet']>,
    ctx: RequestContext,
  ): Promise<Output<Routes['kvmPowerGet']>> => {
    const kvm = await bmcs.openKvm({ bmc_ip: addressOf('query.kvm_ip', query.kvm_ip ?? ''), by: ctx.caller.username })
    const atx = await readAtx(kvm, { signal: ctx.signal })
    const status = statusOf(atx)
    return {
      message: SENTENCES[status],
      power_on: atx.enabled && atx.power_on,
      status,
      hdd_active: atx.hdd_active,
      observed_at: new Date().toISOString(),
    }
  }
}

function statusOf({ enabled, busy, power_on }: AtxState): Output<Routes['kvmPowerGet']>['status'] {
  if (!enabled) return 'disabled'
  if (busy) return 'busy'
  return power_on ? 'on' : 'off'
}

const SENTENCES = {
  on: 'The machine is on.',
  off: 'The machine is off.',
  busy: 'A button of the machine is being pressed.',
  disabled: 'The KVM is not wired to the power of the machine, so nothing is known.',
} as const

/** For those who watch. */
export function kvmPowerReader(bmcs: Pick<BmcAccess, 'openKvm'>) {
  return async (order: BmcOrder) => {
    const kvm = await bmcs.openKvm(order)
    return async () => {
      const { enabled, power_on, busy, hdd_active } = await readAtx(kvm, { once: true })
      const power_state = enabled ? (power_on ? ('On' as const) : ('Off' as const)) : null
      return { power_on: enabled ? power_on : null, power_state, busy, hdd_active }
    }
  }
}

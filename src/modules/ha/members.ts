// The member list: a change of it is passed on to the members, so that they exchange keys at once.
import type { ha } from '#src/contract/ha/ha.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { recordChange } from '#src/store/app-events.ts'
import { describeHaMembers, haMembers, removeHaMember, setHaMember } from '#src/store/ha-members.ts'
import type { HaDeps } from './deps.ts'

type MemberHandlers = Pick<
  Handlers<typeof ha.routes, RequestContext>,
  'haMemberList' | 'haMemberSet' | 'haMemberRemove'
>

export function memberHandlers(deps: HaDeps): MemberHandlers {
  const { database } = deps
  return {
    haMemberList: async () => ({ members: await describeHaMembers(database.db) }),
    async haMemberSet({ params: { bmcIP }, body }, ctx) {
      const fields = { ...body, address: addressOf('body.address', body.address) }
      const about = { resource_type: 'HA', resource_uuid: fields.address, description: `Set member ${bmcIP}` }
      const members = await recordChange(deps, ctx, about, () =>
        database.transact(async (trx) => {
          await setHaMember(trx, bmcIP, fields)
          return describeHaMembers(trx)
        }),
      )
      await announce(deps)
      const member = members.find(({ bmc_ip }) => bmc_ip === bmcIP)
      if (member === undefined) throw new Error(`member ${bmcIP} was set and is not there`)
      return member
    },
    async haMemberRemove({ params: { bmcIP } }, ctx) {
      const about = { resource_type: 'HA', description: `Remove member ${bmcIP}` }
      await recordChange(deps, ctx, about, () => database.transact((trx) => removeHaMember(trx, bmcIP)))
      await announce(deps)
      return { bmc_ip: bmcIP }
    },
  }
}

/** Who cannot be reached sees the new list by itself with its next check. */
async function announce({ config, database, peers, log }: HaDeps): Promise<void> {
  const members = await haMembers(database.db)
  await Promise.all(
    members
      .filter(({ address }) => address !== config.ha.address)
      .map(({ address }) =>
        peers
          .call(address, 'POST', '/internal/haconfig/update')
          .catch((err: unknown) => log.info({ err, address }, 'peer was not told of the new member list')),
      ),
  )
}

// What the agent of a management node is to make of its failover daemon: rendered from the list of members.
import { type Static, Type } from 'typebox'
import { Closed } from '../common.ts'
import { DeviceName } from './agent-bridges.ts'

const Address = Type.String({ pattern: '^[0-9a-fA-F.:]{2,39}$', description: 'IPv4 or IPv6 address.' })
const Path = Type.String({ pattern: '^(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._+-]+)+$', maxLength: 200 })

export const FailoverDocument = Closed({
  address: Type.String({ ...Address, description: 'Of this node on the cluster network.' }),
  interface: DeviceName,
  priority: Type.Integer({ minimum: 1, maximum: 254 }),
  peers: Type.Array(Address, { maxItems: 16, uniqueItems: true, description: 'Addresses of the other members.' }),
  virtual_addresses: Type.Array(
    Type.String({ pattern: '^[0-9a-fA-F.:]{2,39}/\\d{1,3}$', description: 'With prefix length.' }),
    { minItems: 1, maxItems: 20, uniqueItems: true },
  ),
  virtual_router_id: Type.Integer({
    minimum: 1,
    maximum: 255,
    description: 'The same on all members, unique in the network.',
  }),
  check_url: Type.String({
    pattern: '^https?://[A-Za-z0-9.:\\[\\]/_-]+$',
    maxLength: 200,
    description: 'Answers with success while the API of this node is ready.',
  }),
  /** Spool and credentials of the notify script. */
  ha_dir: Path,
  /** Account that runs the scripts: that of the control plane. */
  script_user: Type.String({ pattern: '^[a-z_][a-z0-9_-]{0,31}$' }),
})
export type FailoverDocument = Static<typeof FailoverDocument>

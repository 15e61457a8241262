// What a node is told about its own network: which devices are uplinks, what each bridge is for, and when to warn.
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { OneOf } from '#src/contract/common.ts'

const DeviceName = Type.String({ minLength: 1, maxLength: 15 })

export const NetThresholds = Type.Object(
  {
    error_rate_warning_per_s: Type.Number({
      minimum: 0,
      default: 0,
      description: 'Errors a second of one device above which a warning is raised.',
    }),
    error_rate_critical_per_s: Type.Number({
      minimum: 0,
      default: 10,
      description: 'Errors a second of one device above which the alert is critical.',
    }),
    ntp_offset_warning_ms: Type.Number({ minimum: 0, default: 100, description: 'Clock offset that is a warning.' }),
    ntp_offset_critical_ms: Type.Number({ minimum: 0, default: 1000, description: 'Clock offset that is critical.' }),
    ntp_unsynced_critical_s: Type.Number({
      minimum: 0,
      default: 3600,
      description: 'Seconds without synchronisation after which the alert is critical.',
    }),
    flap_changes: Type.Integer({
      minimum: 1,
      default: 5,
      description: 'Carrier changes within flap_window_s that make a NIC flapping.',
    }),
    flap_window_s: Type.Number({ minimum: 1, default: 600, description: 'Window of flap_changes in seconds.' }),
  },
  { additionalProperties: false, default: {} },
)
export type NetThresholds = Static<typeof NetThresholds>

export const NodeNetConfig = Type.Object(
  {
    uplinks: Type.Array(DeviceName, {
      default: [],
      description: 'Devices that count as physical NICs beside those with hardware behind them.',
    }),
    roles: Type.Record(Type.String(), OneOf(['management', 'public', 'guest', 'storage']), {
      default: {},
      description: 'Bridge (or NIC) to the network it carries.',
    }),
    node_ip: Type.Optional(Type.String({ description: 'Management address of this node.' })),
    fqdn: Type.Optional(Type.String({ description: 'Full name of this node.' })),
    node_role: Type.Optional(OneOf(['management', 'kvm_host'])),
    sdwan_types: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'NIC to its SD-WAN type, shown as it stands here.' }),
    ),
    time_daemon_address: Type.Optional(
      Type.String({ description: 'Loopback address of the time daemon; left out: its socket.' }),
    ),
    thresholds: NetThresholds,
  },
  { additionalProperties: false },
)
export type NodeNetConfig = Static<typeof NodeNetConfig>

const Checked = Compile(NodeNetConfig)

/** Fills in the defaults and refuses what does not fit, naming the field. */
export function parseNodeNetConfig(value: unknown): NodeNetConfig {
  const filled: unknown = Value.Default(NodeNetConfig, structuredClone(value))
  if (Checked.Check(filled)) return filled
  const [first] = Checked.Errors(filled)
  throw new Error(
    `network configuration of the node: ${first?.instancePath || '/'} ${first?.message ?? 'does not fit'}`,
  )
}

// Statistics over all guest networks and public addresses (Part 3, 4.6).
import { type Static, Type } from 'typebox'
import { Nullable, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'

const Bytes = (description: string) => Nullable(Type.Integer({ description }))

const Gauge = Type.Object(
  {
    percentage: Nullable(Type.Number({ description: 'Used of total; null when there is nothing to divide.' })),
    total: Nullable(Type.Integer()),
    used: Nullable(Type.Integer()),
  },
  { title: 'UsageGauge' },
)

const Bandwidth = Type.Object(
  {
    estimated_usage: Type.Boolean({ description: 'True: used is derived from samples of the virtual machines.' }),
    percentage: Nullable(Type.Number()),
    received_bytes: Bytes('By all guest networks since the platform counts.'),
    sent_bytes: Bytes('By all guest networks since the platform counts.'),
    total_bytes: Bytes('Received and sent.'),
    total_mbps: Nullable(Type.Integer({ description: 'What the nodes’ uplinks can carry.' })),
    used_mbps: Nullable(
      Type.Integer({ description: 'What all virtual machines received and sent in the last sample.' }),
    ),
    total_gbps: Nullable(Type.Number()),
    used_gbps: Nullable(Type.Number()),
    source: Type.String({ description: 'Where the numbers come from.' }),
  },
  { title: 'BandwidthGauge' },
)

const Chart = Type.Object(
  {
    title: Type.String(),
    total: Type.Integer(),
    segments: Type.Array(Type.Object({ label: Type.String(), value: Type.Integer() })),
  },
  { title: 'SegmentChart' },
)

export const NetworkStats = Type.Object(
  {
    dashboard: Type.Object({
      allocation: Gauge,
      implemented: Gauge,
      ip_usage: Gauge,
      setup: Gauge,
      bandwidth: Bandwidth,
    }),
    guest_networks_by_type: Chart,
    public_ips_by_state: Chart,
    unavailable: Type.Optional(Type.Array(Unavailable)),
  },
  { title: 'NetworkStats' },
)
export type NetworkStats = Static<typeof NetworkStats>

const gauge = (used: number, total: number) => ({ percentage: Math.round((used / total) * 10_000) / 100, total, used })

export const networkStats = defineArea({
  name: 'network-stats',
  description: 'Statistics over all guest networks and public addresses.',
  routes: {
    networkStatsGet: {
      method: 'POST',
      path: '/network/stats',
      summary: 'Get network statistics',
      description:
        'Counted again at each call, page by page. `allocation`, `implemented` and `setup` count the guest networks in that state among all.',
      access: 'viewer',
      effect: 'read',
      ok: { 200: NetworkStats },
      errors: [400, 500],
      example: {
        answer: {
          dashboard: {
            allocation: gauge(1, 4),
            implemented: gauge(2, 4),
            ip_usage: gauge(12, 90),
            setup: gauge(1, 4),
            bandwidth: {
              estimated_usage: true, percentage: null, received_bytes: 734_003_200, sent_bytes: 314_572_800, total_bytes: 1_048_576_000,
              total_mbps: null, used_mbps: 84, total_gbps: null, used_gbps: 0.08, source: 'compute-platform',
            }, // biome-ignore format: one record
          },
          guest_networks_by_type: {
            title: 'Guest networks by type',
            total: 4,
            segments: [{ label: 'Isolated', value: 4 }],
          },
          public_ips_by_state: {
            title: 'Public IPs by state',
            total: 90,
            segments: [{ label: 'Released', value: 90 }],
          },
        },
      },
    },
  },
})

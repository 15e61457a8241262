import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { StorageHealth } from '#src/contract/storage/host.ts'
import { judge, type NodeFindings } from './health-verdict.ts'

const WELL = { overall_status: 'HEALTHY', overall_status_reasons: [], failed_disks: [] } as unknown as StorageHealth
const UP = { state: 'Up', resource_state: 'Enabled' }
const well: NodeFindings = { alerts: [], storage: { value: WELL }, platform: UP }

const alert = (category: NetworkAlert['category'], severity: NetworkAlert['severity']): NetworkAlert => ({
  category, severity, node: 'kvm-02', device: 'eth3', message: `${category} is wrong.`,
}) // biome-ignore format: a record

function verdict(findings: Partial<NodeFindings>): Record<string, string> {
  return Object.fromEntries(judge({ ...well, ...findings }).map(({ area, health }) => [area, health]))
}

const HEALTHY = verdict({})

test('a node about which nobody complains is healthy in all areas', () => {
  assert.deepEqual([...new Set(Object.values(HEALTHY))], ['healthy'])
  assert.equal(Object.keys(HEALTHY).length, 8)
})

test('each kind of alert makes its own area ill, and no other', () => {
  const areas = {
    errors: 'network',
    link_down: 'network',
    mtu: 'mtu',
    mtu_drift: 'mtu',
    ntp: 'time',
    vxlan_fabric: 'routing',
  } as const
  for (const [category, area] of Object.entries(areas) as [NetworkAlert['category'], string][]) {
    assert.deepEqual(verdict({ alerts: [alert(category, 'critical')] }), { ...HEALTHY, [area]: 'critical' })
    assert.deepEqual(verdict({ alerts: [alert(category, 'warning')] }), { ...HEALTHY, [area]: 'degraded' })
    assert.deepEqual(verdict({ alerts: [alert(category, 'info')] }), HEALTHY)
  }
})

test('a silent agent is critical, and what only it could tell is unknown', () => {
  const silent = verdict({
    alerts: [alert('node_offline', 'critical'), alert('mtu', 'critical')],
    storage: { error: 'silent' },
  })
  const unknown = {
    time: 'unknown',
    network: 'unknown',
    mtu: 'unknown',
    routing: 'unknown',
    storage: 'unknown',
    disks: 'unknown',
  }
  assert.deepEqual(silent, { ...HEALTHY, agent: 'critical', ...unknown })
})

test('a node that is not watched is unknown, not ill', () => {
  assert.equal(verdict({ alerts: [alert('node_offline', 'info')], storage: undefined })['agent'], 'unknown')
})

test('storage, disks and the host on the platform count as they report themselves', () => {
  const storage = (overall_status: string | null, failed: string[] | null) => ({
    storage: {
      value: {
        ...WELL,
        overall_status,
        overall_status_reasons: ['pool tank is degraded'],
        failed_disks: failed,
      } as StorageHealth,
    },
  })
  assert.deepEqual(verdict(storage('NEEDS_ATTENTION', [])), { ...HEALTHY, storage: 'degraded' })
  assert.deepEqual(verdict(storage('CRITICAL', ['sdb'])), { ...HEALTHY, storage: 'critical', disks: 'critical' })
  assert.deepEqual(verdict(storage(null, null)), { ...HEALTHY, storage: 'unknown', disks: 'unknown' })
  assert.equal(verdict({ platform: { state: 'Down', resource_state: 'Enabled' } })['platform'], 'critical')
  assert.equal(verdict({ platform: { state: 'Up', resource_state: 'Maintenance' } })['platform'], 'degraded')
  assert.ok(!('platform' in verdict({ platform: null })))
})

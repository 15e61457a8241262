import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { NodeGpus } from '#src/contract/nodes/agent-gpu.ts'
import type { StorageHealth } from '#src/contract/storage/host.ts'
import { judge, type NodeFindings } from './health-verdict.ts'

const WELL = { overall_status: 'HEALTHY', overall_status_reasons: [], failed_disks: [] } as unknown as StorageHealth
const A2 = { bus_address: '3b:00.0', card: 'NVIDIA A2', state: 'Free', whole: true }
const UP = { state: 'Up', resource_state: 'Enabled', gpus: [A2] }
const SHOWN = { bus_address: '0000:3b:00.0', mode: 'passthrough' }
const shows = (...gpus: object[]) => ({ gpus: { value: { gpus } as unknown as NodeGpus } })
const well: NodeFindings = { alerts: [], storage: { value: WELL }, platform: UP, ...shows(SHOWN) }

const alert = (category: NetworkAlert['category'], severity: NetworkAlert['severity']): NetworkAlert => ({
  category, severity, node: 'kvm-02', device: 'eth3', message: `${category} is wrong.`,
}) // biome-ignore format: a record

function verdict(findings: Partial<NodeFindings>): Record<string, string> {
  return Object.fromEntries(judge({ ...well, ...findings }).map(({ area, health }) => [area, health]))
}

const HEALTHY = verdict({})

test('a node about which nobody complains is healthy in all areas', () => {
  assert.deepEqual([...new Set(Object.values(HEALTHY))], ['healthy'])
  assert.equal(Object.keys(HEALTHY).length, 9)
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
    gpus: { error: 'silent' },
  })
  const unknown = {
    time: 'unknown',
    network: 'unknown',
    mtu: 'unknown',
    routing: 'unknown',
    storage: 'unknown',
    disks: 'unknown',
    gpus: 'unknown',
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
  assert.equal(verdict({ platform: { ...UP, state: 'Down' } })['platform'], 'critical')
  assert.equal(verdict({ platform: { ...UP, resource_state: 'Maintenance' } })['platform'], 'degraded')
  assert.ok(!('platform' in verdict({ platform: null })))
})

test('a GPU that the platform has in Error, that the node does not show, or that no driver holds makes the node ill', () => {
  const gpus = (findings: Partial<NodeFindings>) => judge({ ...well, ...findings }).find(({ area }) => area === 'gpus')
  const broken = gpus({ platform: { ...UP, gpus: [{ ...A2, state: 'Error' }] } })
  assert.deepEqual([broken?.health, broken?.reasons], ['critical', ['GPU 3b:00.0 (NVIDIA A2) is in the state Error on the compute platform.']])
  const gone = gpus(shows())
  assert.deepEqual([gone?.health, gone?.reasons], ['critical', ['GPU 3b:00.0 (NVIDIA A2) is not on the PCI bus of the node.']])
  assert.equal(gpus(shows({ ...SHOWN, mode: 'none' }))?.health, 'degraded')
  const part = { ...A2, bus_address: '5d2c1d1e-0000-4000-8000-000000000001', whole: false }
  assert.equal(gpus({ platform: { ...UP, gpus: [A2, part] } })?.health, 'healthy')
  assert.equal(gpus({ gpus: { error: 'It does not answer.' } })?.health, 'unknown')
  assert.equal(gpus({ platform: { ...UP, gpus: [] }, gpus: undefined }), undefined)
}) // biome-ignore format: rows

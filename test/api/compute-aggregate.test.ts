// The aggregate over all machines equals a brute-force sum over the platform's raw data, at every size where pages matter.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleOf } from '../../lab/cloudstack/sampler.ts'
import { DEFAULT_SIZE } from '../../lab/site.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

const INTERVAL_MS = 60_000
const HOUR_MS = 3_600_000

/** Said again in the simplest words: all machines in memory, one field at a time. */
function bruteForce(lab: Lab) {
  const { state } = lab.platform
  const sample = Math.floor(state.seeded_at / INTERVAL_MS) + state.steps
  const all = [...state.tables.vms.values()]
  const running = all.filter((vm) => vm.state === 'Running').map((vm) => ({ vm, used: sampleOf(vm, sample) }))
  const sum = (read: (one: (typeof running)[number]) => number) => running.reduce((total, one) => total + read(one), 0)
  const states = (...names: string[]) => all.filter((vm) => names.includes(vm.state)).length
  const mhz = sum(({ vm }) => vm.cpunumber * vm.cpuspeed)
  const used_mhz = sum(({ vm, used }) => (vm.cpunumber * vm.cpuspeed * used.cpu_percent) / 100)
  const memory = sum(({ vm }) => vm.memory * 1024)
  const used_memory = sum(({ used }) => used.memorykbs - used.memoryintfreekbs)
  const iops = sum(({ used }) => used.diskioread + used.diskiowrite)
  const network = sum(({ used }) => used.networkkbsread + used.networkkbswrite)
  const each = (value: number) => (running.length === 0 ? 0 : value / running.length)
  return {
    count: all.length,
    running: running.length,
    averages: {
      cpu_used_percent: mhz === 0 ? 0 : (used_mhz / mhz) * 100,
      disk_iops_total: each(iops),
      memory_used_percent: memory === 0 ? 0 : (used_memory / memory) * 100,
      network_kbs_total: each(network),
    },
    state_counts: {
      destroyed: states('Destroyed'),
      expunged: states('Expunging'),
      other: all.length - states('Destroyed', 'Expunging', 'Running', 'Stopped'),
      running: states('Running'),
      stopped: states('Stopped'),
    },
    totals: {
      cpu_total_mhz: mhz,
      cpu_used_mhz: used_mhz,
      cpu_used_percent_sum: sum(({ used }) => used.cpu_percent),
      disk_io_read: sum(({ used }) => used.diskioread),
      disk_io_write: sum(({ used }) => used.diskiowrite),
      disk_iops_total: iops,
      disk_kbs_read: sum(({ used }) => used.diskkbsread),
      disk_kbs_write: sum(({ used }) => used.diskkbswrite),
      memory_assigned_kbs: memory,
      memory_internal_free_kbs: sum(({ used }) => used.memoryintfreekbs),
      memory_target_kbs: sum(({ used }) => used.memorytargetkbs),
      memory_used_kbs: used_memory,
      network_kbs_read: sum(({ used }) => used.networkkbsread),
      network_kbs_total: network,
      network_kbs_write: sum(({ used }) => used.networkkbswrite),
    },
  }
}

/** Answers are rounded to two digits; whole numbers must be equal. */
function equal(actual: Record<string, number>, expected: Record<string, number>, where: string): void {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), where)
  for (const [name, value] of Object.entries(expected)) {
    const difference = Math.abs((actual[name] ?? Number.NaN) - value)
    assert.ok(
      Number.isInteger(value) ? difference === 0 : difference <= 0.0051,
      `${where} ${name}: ${actual[name]} is not ${value}`,
    )
  }
}

for (const vms of [0, 1, 499, 500, 501, 20_000]) {
  test(`the aggregate of ${vms} machines is that of the raw data`, { timeout: 300_000 }, async () => {
    const size = { ...DEFAULT_SIZE, vms, hosts: Math.max(6, Math.ceil(vms / 40)) }
    // Nobody else reads the platform meanwhile: the state watcher looks once.
    const compute = { states_poll_ms: HOUR_MS, events_poll_ms: HOUR_MS, read_timeout_ms: 30_000 }
    const lab = await startLab({ time: 'step', size, config: { compute } })
    try {
      const { status, body, text } = await lab.call('GET', '/compute/vms/metrics/aggregate')
      assert.equal(status, 200, text)
      const expected = bruteForce(lab)
      assert.deepEqual([body.virtual_machine_count, expected.count], [vms, vms])
      assert.deepEqual(body.state_counts, expected.state_counts)
      equal(body.totals, expected.totals, 'totals')
      equal(body.averages, expected.averages, 'averages')
      assert.equal(
        body.latest_sample_time === null,
        expected.running === 0,
        'a sample time exactly when there are samples',
      )
    } finally {
      await lab.close()
    }
  })
}

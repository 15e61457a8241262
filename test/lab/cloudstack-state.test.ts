/** What the simulated compute platform keeps over a restart, and how it carries a large site. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { signature } from '../../lab/cloudstack/sign.ts'
import { wellKnown } from '../../lab/site.ts'
import { clientOf, errorOf, fields, startLab } from './cloudstack-client.ts'
import { tempFolder } from '../support/temp-folder.ts'

const { vms } = wellKnown

describe('state over restarts', () => {
  let folder: string
  before(() => {
    folder = tempFolder('lab-')
  })

  test('what was acknowledged is there again, and a torn last line is dropped', async () => {
    const state_file = join(folder, 'kept.jsonl')
    const first = await startLab({ state_file })
    await first.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'kept' })
    const made = fields((await first.ok('createDiskOffering', { name: 'made', disksize: 7 }))['diskoffering'])
    await first.job('expungeVirtualMachine', { id: vms['old-test'] })
    await first.lab.close()
    appendFileSync(state_file, '[["vms","torn",{"id":"to')
    const second = await startLab({ state_file })
    try {
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['displayname'], 'kept')
      assert.equal((await second.rows('listDiskOfferings', { id: String(made['id']) }))[0]?.['name'], 'made')
      assert.deepEqual(await second.ok('listVirtualMachines', { id: vms['old-test'] }), {})
      assert.equal(readFileSync(state_file, 'utf8').includes('torn'), false)
    } finally {
      await second.lab.close()
    }
  })

  test('a job running at the end fails with the restart text, and its machine settles later', async () => {
    const state_file = join(folder, 'interrupted.jsonl')
    const first = await startLab({ state_file })
    const { jobid } = await first.ok('stopVirtualMachine', { id: vms['web-01'] })
    await first.lab.close()
    const second = await startLab({ state_file })
    try {
      const job = await second.ok('queryAsyncJobResult', { jobid: String(jobid) })
      assert.equal(job['jobstatus'], 2)
      assert.equal(errorOf(job).text, 'job cancelled because of management server restart or shutdown')
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['state'], 'Stopping')
      second.lab.step()
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['state'], 'Stopped')
    } finally {
      await second.lab.close()
    }
  })

  test('a reset brings the seed back, also over a restart', async () => {
    const state_file = join(folder, 'reset.jsonl')
    const first = await startLab({ state_file })
    await first.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'changed' })
    first.lab.reset()
    await first.ok('updateVirtualMachine', { id: vms['web-02'], displayname: 'after' })
    await first.lab.close()
    const second = await startLab({ state_file })
    try {
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['displayname'], 'web-01')
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-02'] }))[0]?.['displayname'], 'after')
    } finally {
      await second.lab.close()
    }
  })

  test('a long life does not make the file grow without end', async () => {
    const state_file = join(folder, 'long.jsonl')
    const first = await startLab({ state_file })
    const { tables } = first.lab.state
    for (let round = 1; round <= 520; round += 1) {
      for (const vm of tables.vms.values()) tables.vms.put({ ...vm, displayname: `round ${round}` })
      await first.ok('listZones')
    }
    await first.lab.close()
    // 520 rounds of 40 machines would be more than 20 MB.
    assert.ok(statSync(state_file).size < 5_000_000)
    const second = await startLab({ state_file })
    try {
      assert.equal((await second.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['displayname'], 'round 520')
    } finally {
      await second.lab.close()
    }
  })

  test('damage in the middle of the file is an error, not a silent loss', async () => {
    const state_file = join(folder, 'damaged.jsonl')
    const first = await startLab({ state_file })
    await first.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'a' })
    await first.lab.close()
    appendFileSync(state_file, 'not json\n[]\n')
    await assert.rejects(startLab({ state_file }), /damaged/)
  })
})

test('20,000 machines: every page is full, the count is honest and no id comes twice', async () => {
  const client = clientOf(
    (await startLab({ size: { vms: 20_000, hosts: 300, clusters: 20, networks: 3, tenants: 2 } })).lab,
  )
  try {
    const seen = new Set<unknown>()
    for (let page = 1; page <= 40; page += 1) {
      const body = await client.ok('listVirtualMachinesMetrics', {
        listall: true,
        projectid: -1,
        details: 'min,servoff,stats',
        page,
        pagesize: 500,
      })
      assert.equal(body['count'], 20_000)
      assert.ok(Array.isArray(body['virtualmachine']))
      for (const vm of body['virtualmachine']) seen.add(fields(vm)['id'])
    }
    assert.equal(seen.size, 20_000)
  } finally {
    await client.lab.close()
  }
})

/** Starts the simulator as a program and reads the one line with its addresses. */
async function startProgram(...options: string[]): Promise<{
  child: ChildProcessByStdio<Writable, Readable, null>
  url: string
  control_url: string
  api_key: string
  secret_key: string
}> {
  const main = fileURLToPath(new URL('../../lab/cloudstack/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...options], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const ready = fields(JSON.parse(String(line)))
  return {
    child,
    url: String(ready['url']),
    control_url: String(ready['control_url']),
    api_key: String(ready['api_key']),
    secret_key: String(ready['secret_key']),
  }
}

test('an answered change survives a kill in the next moment', async () => {
  const folder = tempFolder('lab-')
  const state_file = join(folder, 'killed.jsonl')
  try {
    const { child, url, api_key, secret_key } = await startProgram('--state', state_file, '--time', 'step')
    const params = new Map(
      Object.entries({
        command: 'updateVirtualMachine',
        response: 'json',
        apikey: api_key,
        id: vms['web-01'],
        displayname: 'survivor',
      }),
    )
    params.set('signature', signature(params, secret_key, 'hmac-sha1'))
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams([...params]) })
    child.kill('SIGKILL')
    assert.equal(answer.status, 200)
    await once(child, 'exit')
    const again = await startLab({ state_file })
    const [vm] = await again.rows('listVirtualMachines', { id: vms['web-01'] })
    await again.lab.close()
    assert.equal(vm?.['displayname'], 'survivor')
  } finally {
  }
})

test('as a program it prints its addresses in one line and ends when its input closes', async () => {
  const { child, url, control_url } = await startProgram('--vms', '60', '--time', 'step', '--exit-with-stdin')
  try {
    assert.equal((await fetch(`${url}?command=listZones&response=json`)).status, 401)
    const state = fields(await (await fetch(`${control_url}/state?kind=vms`)).json())
    assert.ok(Array.isArray(state['vms']))
    assert.equal(state['vms'].length, 60)
    child.stdin.end()
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
  } finally {
    child.kill('SIGKILL')
  }
})

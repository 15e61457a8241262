// A lab of which one part cannot start leaves no other part running, and starts once the obstacle is gone.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, rmdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { startDataCentre } from '../../bin/data-centre.ts'
import { processesOf } from '../support/processes.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const VMS = 20

let folder = ''
before(() => {
  folder = tempFolder('gp-lab-failed-')
  // The account of the database must be able to pass.
  chmodSync(folder, 0o755)
})

const start = () =>
  startDataCentre({ host: '127.0.0.1', port: 0, vms: VMS, state_dir: folder, agents: false, cameras: false })

test('what was started before the part that fails is stopped: the database and the platform', async () => {
  for (const obstacle of [`cloudstack-${VMS}.journal`, 'keys']) {
    const path = join(folder, 'control', obstacle)
    mkdirSync(path, { recursive: true })
    const before_start = listeners()
    await assert.rejects(start(), { code: 'EISDIR' }, obstacle)
    assert.deepEqual(processesOf(folder), [], `${obstacle}: no program of the database is left`)
    // The handle of a closed server goes a moment later.
    await until(`${obstacle}: no server of this process is left`, () => listeners() === before_start)
    rmdirSync(path)
  }
  const centre = await start()
  const { hostname, port } = new URL(centre.url)
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(void socket.destroy())).on('error', reject)
  })
  await centre.close()
  assert.deepEqual(processesOf(folder), [])
})

/** Servers that this process listens with. */
function listeners(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
}

// A block image of which the cluster does not say enough is never written to, and the answer names it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { requireImage } from './cluster-run.ts'

const INFO = 'rbd info volumes/bench-1 --format json'
const STATUS = 'rbd status volumes/bench-1 --format json'
const REQUEST = { pool: 'volumes', image: 'bench-1', writes: true, confirmed: undefined, io_bytes: 4096 }

test('an image or its clients that cannot be read are an error with the name of the image and the end of the tool', async () => {
  const rows = [
    [{ [INFO]: { exit_code: 13 } }, 'Image volumes/bench-1 could not be read: rbd info ended with 13.'],
    [
      { [INFO]: '{"size": 1073741824}', [STATUS]: { outcome: 'timeout', exit_code: null } },
      'The clients of image volumes/bench-1 could not be read: rbd status ended with timeout.',
    ],
  ] as const
  for (const [commands, message] of rows) {
    const host = recordedHost({ commands })
    const tools = { host, rados: 'rados', rbd: 'rbd', ceph: 'ceph', args: [] }
    await assert.rejects(requireImage(tools, REQUEST), { code: 'STORE_UNAVAILABLE', message })
    assert.ok(host.ran.every((line) => line === INFO || line === STATUS))
  }
})

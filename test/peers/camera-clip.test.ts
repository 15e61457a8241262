// A clip of one GB through the service to a slow reader: memory stays bounded, and a reader who leaves ends it on the NVR at once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import { type FakeNvr, startFakeNvr, withLoginAndCamera } from '../support/fake-nvr.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const CLIP_MIB = 1024
const MOST_GROWTH = 30 * MIB
const PIECE = Buffer.alloc(MIB, 7)

let lab: CameraLab
let fake: FakeNvr
let sent = 0
let cut = 0

async function sendClip(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'video/mp4' })
  response.once('close', () => {
    if (!response.writableFinished) cut = performance.now()
  })
  for (sent = 0; sent < CLIP_MIB && !response.destroyed; sent += 1) {
    if (!response.write(PIECE)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}

before(async () => {
  lab = await startCameraLab()
  const handle = withLoginAndCamera((_request, response) => void sendClip(response))
  fake = await startFakeNvr(handle, { host: '127.0.0.3', port: Number(new URL(lab.nvr.url).port) })
  await lab.useNvr(fake)
})
after(async () => {
  await lab?.close()
  fake?.close()
})

async function openClip(): Promise<IncomingMessage> {
  const { hostname, port } = new URL(lab.url)
  const path = '/cam/cameras/gate/recording/clip?start=1&end=100000'
  const call = request({ hostname, port, path, agent: false, headers: { authorization: `Bearer ${lab.token}` } }).end()
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200)
  return answer
}

test('a clip of one GB passes with less than 30 MiB more memory', { timeout: 300_000 }, async (t) => {
  // What is still in use: garbage of three programs in this process says nothing.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = async (): Promise<number> => {
    collect()
    // Memory outside of the heap is freed a moment later.
    await pause(20)
    collect()
    const { external, heapUsed } = process.memoryUsage()
    return external + heapUsed
  }
  for await (const _chunk of await openClip()) if (sent > 20) break
  const base = await used()
  let highest = 0
  let length = 0
  let next = 0
  for await (const chunk of await openClip()) {
    length += (chunk as Buffer).length
    if (length < next) continue
    next += 128 * MIB
    highest = Math.max(highest, (await used()) - base)
  }
  assert.equal(length, CLIP_MIB * MIB)
  t.diagnostic(`${(highest / MIB).toFixed(1)} MiB more at most`)
  assert.ok(highest < MOST_GROWTH, `${highest / MIB} MiB more`)
})

test('nothing is read ahead for a reader who does not read, and what is open ends within a second when they leave', async (t) => {
  const took_ms: number[] = []
  // On a busy machine it may take longer once; what never ends in time fails.
  do {
    const answer = await openClip()
    let before_bytes = -1
    await until('the NVR is held back', () => {
      const steady = sent > 0 && sent === before_bytes
      before_bytes = sent
      return steady
    })
    assert.ok(sent < 32, `${sent} MiB are under way`)
    const left = performance.now()
    answer.destroy()
    await until('the NVR notices', () => cut > left)
    took_ms.push(cut - left)
  } while (Math.min(...took_ms) >= 1000 && took_ms.length < 5)
  t.diagnostic(`${took_ms.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  assert.ok(Math.min(...took_ms) < 1000)
})

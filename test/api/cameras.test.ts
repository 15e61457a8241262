// Cameras of a real driver against the simulated NVR: the list, switches, frames, and recording with its restart.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'

let lab: CameraLab
before(async () => {
  lab = await startCameraLab()
})
after(() => lab?.close())
afterEach(() => lab.nvrControl('reset'))

test('the list shows each camera with its switches, its counters, and the stream that the live view uses', async () => {
  const { status, body, text } = await lab.call('GET', '/cam/cameras')
  assert.equal(status, 200, text)
  assert.deepEqual(body.map((camera: { id: string }) => camera.id), ['gate', 'yard', 'depot']) // biome-ignore format: one line
  const [gate, yard, depot] = body
  assert.deepEqual([gate.detect_enabled, gate.motion_enabled, gate.record_enabled], [true, true, true])
  assert.deepEqual([gate.audio_configured, yard.audio_configured], [true, false])
  assert.deepEqual([gate.live_source, depot.live_source], ['main', 'reencoded'])
  assert.deepEqual([gate.detect_width, gate.detect_height], [640, 360])
  assert.ok(gate.camera_fps > 0, text)
  assert.ok(!text.includes('rtsp:'), 'no stream address')
})

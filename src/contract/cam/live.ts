// Live view and the feed of what happens, as WebSockets.
import { Type } from 'typebox'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'
import { CameraParams } from './common.ts'

const socket = { method: 'GET', access: 'viewer', kind: 'ws' } as const
const Upgraded = Type.Unknown({ description: 'Switched to WebSocket.' })
const example = { params: { id: 'front' } }

export const cameraLive = defineArea({
  ...CAM_AREA,
  name: 'camera-live',
  description: 'Live view of cameras, and what they see as it happens.',
  routes: {
    cameraLiveOpen: {
      ...socket,
      path: '/cam/cameras/{id}/live',
      summary: 'Open live view of camera',
      description:
        'Media for MediaSource. The client begins with `{"type":"mse","value":"<codecs>"}`, gets the media type in the same form and then binary messages: first the initialisation segment, then one fragment a frame from a key frame on. Times begin anywhere: start where your buffer does. After a pause in reading, frames go on with the next key frame.',
      params: CameraParams,
      ok: { 101: Upgraded },
      errors: [400, 502],
      example,
    },
    cameraWebrtcOpen: {
      ...socket,
      path: '/cam/cameras/{id}/webrtc',
      summary: 'Open WebRTC signalling of camera',
      description:
        'Messages `{"type":"webrtc/offer","value":"<sdp>"}`, `webrtc/answer` and `webrtc/candidate`. The media flows between browser and NVR, port 8555.',
      params: CameraParams,
      ok: { 101: Upgraded },
      errors: [400, 502],
      example,
    },
    cameraEventStreamOpen: {
      ...socket,
      path: '/cam/events/stream',
      summary: 'Open feed of camera events',
      description: 'Events and changes of state as `{"topic":…,"payload":…}`. What the client sends is not read.',
      ok: { 101: Upgraded },
      errors: [502],
      example: {},
    },
  },
})

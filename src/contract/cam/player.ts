// The page with the player, and the files that it is made of. They hold nothing of anybody: what the page shows it asks for itself.
import { Type } from 'typebox'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'
import { Media } from './common.ts'
import { Closed } from '../common.ts'

const shared = { method: 'GET', access: 'public', kind: 'bytes', extension: true } as const

export const cameraPlayer = defineArea({
  ...CAM_AREA,
  name: 'camera-player',
  description: 'A page that shows cameras: live, recordings, and what was detected.',
  routes: {
    cameraPlayerPage: {
      ...shared,
      path: '/cam/player',
      summary: 'Show player of cameras',
      description:
        'Plays for the session of the browser, for a ticket for `/cam` in `?ticket=`, or for who signs in on it. `?camera=` chooses a camera, `?live=mse`, `webrtc` or `jpeg` one way alone, `?hls=native` or `hls.js` how recordings are played.',
      ok: { 200: Media('text/html', 'The page.') },
      errors: [500],
      example: {},
    },
    cameraPlayerFile: {
      ...shared,
      path: '/cam/player/{file}',
      summary: 'Get file of camera player',
      params: Closed({ file: Type.String({ maxLength: 64, description: 'Name of the file.' }) }),
      ok: { 200: Media('*/*', 'Script or style.') },
      errors: [404, 500],
      example: { params: { file: 'player.ts' } },
    },
  },
})

// The page /cam/player: who is there, which camera, and the player for it.
import type { Way } from './live.ts'
import { Player } from './player.ts'
import type { HlsChoice } from './recording.ts'
import { signedIn } from './sign-in.ts'

interface Camera {
  id: string
  name: string
  detect_width: number | null
  detect_height: number | null
}

function part<T extends HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector)
  if (found === null) throw new Error(`the page has no ${selector}`)
  return found
}

/** Asked for in the address, for those who want one way alone: `?live=webrtc`, `?hls=native`, `?camera=front`. */
const asked = new URLSearchParams(location.search)

async function start(): Promise<void> {
  const api = await signedIn(part<HTMLFormElement>('#sign-in'))
  const cameras = await api.get<Camera[]>('/cam/cameras')
  const choice = part<HTMLSelectElement>('#camera')
  choice.append(...cameras.map(({ id, name }) => new Option(name, id, false, id === asked.get('camera'))))
  const live = asked.get('live') as Way | null
  let player: Player | undefined
  const show = (): void => {
    player?.stop()
    const camera = cameras.find(({ id }) => id === choice.value)
    if (camera === undefined) return
    player = new Player(part('#player'), {
      api,
      camera: camera.id,
      detect: { width: camera.detect_width ?? 1280, height: camera.detect_height ?? 720 },
      hls: (asked.get('hls') as HlsChoice | null) ?? 'auto',
      ...(live === null ? {} : { ways: [live] }),
    })
  }
  choice.addEventListener('change', show)
  part('#choice').hidden = false
  part('#note').textContent = cameras.length === 0 ? 'The NVR has no camera.' : ''
  show()
  choice.focus()
}

start().catch((error: unknown) => {
  part('#note').textContent = error instanceof Error ? error.message : String(error)
})

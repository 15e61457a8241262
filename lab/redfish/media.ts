/** Virtual media of a simulated BMC: it really fetches what it is given. */
import { type Document, Refused, textOf } from './answer.ts'
import type { Simulation } from './simulation.ts'
import type { Media } from './state.ts'

const FETCHED_BYTES = 65_536
const FETCH_MS = 5000

export async function insert(sim: Simulation, media: Media, body: Document): Promise<void> {
  const image = textOf(body, 'Image')
  if (media.image !== null) throw new Refused(500, 'IDRAC.2.8.SYS446', 'The media is attached already.')
  if (!sim.state.habits.skip_fetch) await fetchImage(image)
  media.image = image
  sim.changed()
}

async function fetchImage(image: string): Promise<void> {
  const failed = (): Refused =>
    new Refused(
      500,
      'IDRAC.2.8.RAC0904',
      'Unable to locate the ISO or IMG image file or folder in the network share location.',
    )
  try {
    const response = await fetch(image, {
      headers: { range: `bytes=0-${FETCHED_BYTES - 1}` },
      redirect: 'error',
      signal: AbortSignal.timeout(FETCH_MS),
    })
    const bytes = await response.arrayBuffer()
    if ((response.status !== 200 && response.status !== 206) || bytes.byteLength === 0) throw failed()
  } catch (error) {
    throw error instanceof Refused ? error : failed()
  }
}

export function eject(sim: Simulation, media: Media): void {
  if (media.image === null && sim.state.profile.is_dell)
    throw new Refused(500, 'IDRAC.2.8.VRM0009', 'There is no media attached.')
  media.image = null
  sim.changed()
}

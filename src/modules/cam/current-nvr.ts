// Where every handler of the camera module gets the NVR from: the one instance, if it is there and has an address.
import { type Frigate, type FrigateClients, NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError, type ErrorMeaning, UpstreamError } from '#src/kernel/errors.ts'
import type { CamInstanceRow, CamStore } from '#src/store/cam-instance.ts'

/** Throws CAM_NOT_INITIALIZED where there is none, and NVR_UNAVAILABLE while it cannot be called. */
export type CurrentNvr = () => Promise<Frigate>

export interface CurrentNvrDeps {
  config: Pick<Config, 'cam'>
  cam_store: CamStore
  nvr_clients: FrigateClients
}

export function createCurrentNvr({ config, cam_store, nvr_clients }: CurrentNvrDeps): CurrentNvr {
  return async () => {
    const row = await cam_store.instance()
    if (row === undefined)
      throw new ApiError('CAM_NOT_INITIALIZED', 'There is no NVR: provision one with POST /cam/initialize.')
    const { vm_ip_address: ip, admin_password: password, ca_certificate: ca } = row
    if (ip === null || password === null || ca === null || AWAY.includes(row.state)) throw new NvrAway(row)
    const origin = `https://${ip.includes(':') ? `[${ip}]` : ip}:${config.cam.nvr_port}`
    return nvr_clients.at({ origin, password, tls: { ca, servername: NVR_SERVER_NAME } })
  }
}

/** States in which nobody answers, so that nobody needs to be waited for. */
const AWAY: readonly CamInstanceRow['state'][] = ['stopped', 'deleting']

class NvrAway extends UpstreamError {
  readonly #sentence: string
  constructor({ state }: CamInstanceRow) {
    super({ upstream: 'NVR', operation: 'connect', failure: 'unavailable', detail: `the NVR is ${state}` })
    const way_out = state === 'stopped' ? 'Start its virtual machine.' : 'GET /cam/current says how far it is.'
    this.#sentence = `The NVR is ${state}. ${way_out}`
  }

  override meaning(): ErrorMeaning {
    return { code: 'NVR_UNAVAILABLE', message: this.#sentence }
  }
}

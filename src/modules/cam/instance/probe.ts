// POST /cam/cameras/probe.
import type { camInstance } from '#src/contract/cam/instance.ts'
import type { Input, Output } from '#src/contract/route.ts'
import { probeCamera } from '#src/drivers/onvif/probe.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from '../deps.ts'
import { requireCameraAddress } from './camera-networks.ts'

type Route = (typeof camInstance.routes)['cameraProbe']

export function cameraProbe({ config }: Pick<CamDeps, 'config'>) {
  return ({ body }: Input<Route>, { signal }: RequestContext): Promise<Output<Route>> => {
    requireCameraAddress(body.ip, config.cam.camera_networks)
    return probeCamera(body, signal)
  }
}

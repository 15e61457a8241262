// What the jobs and the watcher of the NVR judge it by.
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

export interface LiveConfig {
  camera_ids: string[]
  /** It could not use its configuration file, and runs without cameras. */
  safe_mode: boolean
}

/** What the NVR runs with, which is not what its file says until it is restarted. */
export async function liveConfig(nvr: Frigate, signal: AbortSignal): Promise<LiveConfig> {
  const { cameras, safe_mode } = await nvr.config({ no_cache: true, signal })
  return { camera_ids: Object.keys(cameras), safe_mode: safe_mode === true }
}

export async function hasFrames(nvr: Frigate, camera: string, signal: AbortSignal): Promise<boolean> {
  const { cameras } = await nvr.stats({ no_cache: true, signal })
  return (cameras?.[camera]?.camera_fps ?? 0) > 0
}

/** The file as it stands: sent as a JSON text. */
export async function configFile({ transport }: Frigate, signal: AbortSignal): Promise<string> {
  const operation = 'config/raw'
  const { bytes } = await transport.call(operation, '/api/config/raw', { no_cache: true, signal })
  try {
    return Value.Parse(Type.String(), JSON.parse(bytes.toString('utf8')))
  } catch (cause) {
    throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', detail: 'the answer is no file', cause })
  }
}

// The platform for the walks of a file: one simulator whose time runs fast, and a client with a point of the walk between
// each change and its answer.
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { type CloudStack, createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { createLog } from '#src/kernel/log.ts'
import { platformChanges, withSentPoints } from './job-harness.ts'

export interface WalkPlatform {
  platform: CloudStackLab
  cloudstack: CloudStack
  close(): Promise<void>
}

/** A job of the platform ends so soon after it began. */
const STEP_MS = 20
const WAIT_FACTOR = 0.02
/** No answer is late here by design: what is slow is the machine. */
const TIMES = { timeout_ms: 30_000, read_timeout_ms: 30_000 }

export async function startWalkPlatform(): Promise<WalkPlatform> {
  const platform = await startCloudStack({ time: 'step', port: 0 })
  const ticking = setInterval(() => platform.step(), STEP_MS)
  const { url, api_key, secret_key } = platform
  const cloudstack = createCloudStack(
    { url, api_key, secret_key, algorithm: 'hmac-sha1', ...TIMES },
    { log: createLog({ level: 'silent' }), wait_factor: WAIT_FACTOR },
  )
  return {
    platform,
    cloudstack: withSentPoints(cloudstack, platformChanges),
    async close() {
      clearInterval(ticking)
      await cloudstack.close()
      await platform.close()
    },
  }
}

// One write to /sys, and the check that the kernel did it.
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'

const SETTLE_MS = 10_000
const READ_AGAIN_MS = 100

export interface Act {
  path: string
  text: string
  /** What is being done, for the error. */
  what: string
  /** Whether it is so; asked until it is, because drivers take their time. */
  holds: () => Promise<boolean>
}

/** Throws GPU_CHANGE_FAILED when the kernel refuses, or when nothing came of it. */
export async function writeVerified(host: Host, { path, text, what, holds }: Act): Promise<void> {
  try {
    await host.write(path, text)
  } catch (cause) {
    throw new ApiError('GPU_CHANGE_FAILED', `The kernel refused to ${what} (${codeOf(cause)}).`, { cause })
  }
  const end_ms = host.monotonic() + SETTLE_MS
  while (!(await holds())) {
    if (host.monotonic() > end_ms)
      throw new ApiError('GPU_CHANGE_FAILED', `The kernel took the order to ${what}, but it is not so.`)
    await pause(READ_AGAIN_MS)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error'
}

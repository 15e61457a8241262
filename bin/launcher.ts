// npm cannot pass a SIGKILL on: the lab watches the npm that started it, and stops when that is gone.
const WATCH_MS = 1000

export function watchLauncher(pid_text: string | undefined, gone: () => void): void {
  const pid = Number(pid_text)
  if (!Number.isInteger(pid) || pid <= 1) return
  const timer = setInterval(() => {
    if (isAlive(pid)) return
    clearInterval(timer)
    gone()
  }, WATCH_MS)
  timer.unref()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it lives, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

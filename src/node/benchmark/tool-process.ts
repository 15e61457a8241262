// Runs a benchmark tool so that it can never outlive its run: own process group, a deadline, and the agent's death as its own.
import { spawn } from 'node:child_process'
import { isMainThread } from 'node:worker_threads'

export interface ToolCall {
  tool: string
  args: readonly string[]
  /** Descriptors the tool gets as 3, 4, …. */
  descriptors?: readonly number[]
  /** SIGTERM is sent after this time and counts as a normal end. */
  stop_after_ms?: number
  /** The whole group is killed after this time. */
  timeout_ms: number
  signal: AbortSignal
  onOutput?: (chunk: string) => void
}

export interface ToolEnd {
  outcome: 'ended' | 'timeout' | 'cancelled' | 'not started'
  exit_code: number | null
  stdout: string
  stderr: string
}

const OUTPUT_MAX = 8 * 1024 * 1024
const GRACE_MS = 3000
const TOOL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Unlike Host.run this streams, passes descriptors and ends the whole group. `setpriv --pdeathsig` asks the kernel to
 * kill the tool when the agent ends, SIGKILL included; the request is bound to the thread that starts the tool.
 */
export function runTool(call: ToolCall): Promise<ToolEnd> {
  if (!isMainThread) throw new Error('benchmark tools are started by the main thread only')
  return new Promise((resolve) => {
    const end: ToolEnd = { outcome: 'ended', exit_code: null, stdout: '', stderr: '' }
    if (call.signal.aborted) return resolve({ ...end, outcome: 'cancelled' })
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', call.tool, ...call.args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...(call.descriptors ?? [])],
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: TOOL_PATH },
    })
    const timers: NodeJS.Timeout[] = []
    const signalGroup = (name: 'SIGTERM' | 'SIGKILL'): void => {
      if (child.pid !== undefined) killGroup(child.pid, name)
    }
    const give_up = (outcome: 'timeout' | 'cancelled'): void => {
      if (end.outcome === 'ended') end.outcome = outcome
      signalGroup('SIGTERM')
      timers.push(setTimeout(() => signalGroup('SIGKILL'), GRACE_MS))
    }
    const cancel = (): void => give_up('cancelled')
    call.signal.addEventListener('abort', cancel, { once: true })
    timers.push(setTimeout(() => give_up('timeout'), call.timeout_ms))
    if (call.stop_after_ms !== undefined) timers.push(setTimeout(() => signalGroup('SIGTERM'), call.stop_after_ms))
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      if (end.stdout.length < OUTPUT_MAX) end.stdout += chunk
      call.onOutput?.(chunk)
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      if (end.stderr.length < OUTPUT_MAX) end.stderr += chunk
    })
    let done = false
    const finish = (): void => {
      if (done) return
      done = true
      for (const timer of timers) clearTimeout(timer)
      call.signal.removeEventListener('abort', cancel)
      signalGroup('SIGKILL')
      resolve(end)
    }
    child.on('error', () => {
      end.outcome = 'not started'
      finish()
    })
    child.on('close', (code) => {
      end.exit_code = code
      finish()
    })
  })
}

function killGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, name)
  } catch {
    // The group has ended.
  }
}

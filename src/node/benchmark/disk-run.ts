// A disk run: lays out the test file, runs fio on the descriptor, reads the result (linux-node.md 8.1).
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import type { Unavailable } from '#src/contract/common.ts'
import type { DiskTarget } from './disk-target.ts'
import { fioArgs, layoutArgs, parseFio, parseFioEta } from './fio.ts'
import type { DiskProfile } from './profiles.ts'
import type { RunControl, RunOutcome } from './runs.ts'
import { runTool, type ToolEnd } from './tool-process.ts'

export interface DiskRun {
  tool: string
  target: DiskTarget
  profile: DiskProfile
  /** Folder for the tool's report, which loses its name at once. */
  scratch_folder: string
}

const AFTER_MS = 30_000
const LAYOUT_MAX_MS = 300_000

export async function runDisk(run: DiskRun, control: RunControl): Promise<RunOutcome> {
  const { target, profile } = run
  try {
    if (target.kind === 'directory') {
      const trouble = await layOut(run, control.signal)
      if (trouble !== '') return { figures: null, raw_output: '', error: trouble, notes: [] }
    }
    control.measuring()
    const first = await once(run, profile.direct, control)
    if (profile.direct === 0 || !refusesDirect(first)) return outcomeOf(first, [])
    const reason = 'the file system refuses direct I/O; the run used the page cache'
    return outcomeOf(await once(run, 0, control), [{ field: 'direct', reason }])
  } finally {
    await target.file.close()
  }
}

/**
 * fio lays a file out by its name, which this one has not: first its length, then, for a run that reads, a run of its own
 * that writes every block, because holes are not read from the disk. The answer is what went wrong, or empty.
 */
async function layOut({ tool, target, profile }: DiskRun, signal: AbortSignal): Promise<string> {
  await target.file.truncate(profile.test_bytes)
  if (!profile.reads) return ''
  const end = await runTool({
    tool,
    args: layoutArgs(profile.test_bytes, 3),
    descriptors: [target.file.fd],
    timeout_ms: LAYOUT_MAX_MS,
    signal,
  })
  return errorOf(end, 0, firstLine(end.stderr))
}

interface FioRun {
  end: ToolEnd
  report: string
}

async function once(
  { tool, target, profile, scratch_folder }: DiskRun,
  direct: number,
  control: RunControl,
): Promise<FioRun> {
  const output = await openScratch(scratch_folder)
  try {
    const end = await runTool({
      tool,
      args: fioArgs({ profile, direct, target_fd: 3, output_fd: 4 }),
      descriptors: [target.file.fd, output.fd],
      timeout_ms: profile.runtime_sec * 1000 + AFTER_MS,
      signal: control.signal,
      onOutput: (chunk) => control.live(parseFioEta(chunk)),
    })
    const { size } = await output.stat()
    const { buffer } = await output.read(Buffer.alloc(size), 0, size, 0)
    return { end, report: buffer.toString('utf8') }
  } finally {
    await output.close()
  }
}

async function openScratch(folder: string): Promise<FileHandle> {
  const path = join(folder, `.report-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

function outcomeOf({ end, report }: FioRun, notes: Unavailable[]): RunOutcome {
  const parsed = parseFio(report)
  const said = firstLine(end.stderr) || firstLine(report.startsWith('{') ? '' : report)
  return {
    figures: parsed?.figures ?? null,
    raw_output: report,
    error: errorOf(end, parsed?.error ?? null, said),
    notes,
  }
}

function errorOf(end: ToolEnd, tool_errno: number | null, said: string): string {
  if (end.outcome === 'not started') return 'the benchmark tool could not be started'
  if (end.outcome === 'timeout') return 'the benchmark tool did not end in time and was killed'
  if (tool_errno === 0 && end.exit_code === 0) return ''
  return `the benchmark tool failed: ${said || `it ended with ${end.exit_code ?? 'a signal'}`}`
}

function refusesDirect({ end, report }: FioRun): boolean {
  return (
    end.outcome === 'ended' &&
    end.exit_code !== 0 &&
    /Invalid argument|O_DIRECT|direct/i.test(end.stderr + report.slice(0, 2000)) &&
    (parseFio(report)?.error ?? 22) === 22
  )
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 300) ?? ''
}

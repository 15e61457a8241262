// Makes the image of one node: the template with an answer file in it. Only that file is ours; boot records and partitions are
// those of the template, and everything is read back before the image is used.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '#src/kernel/errors.ts'
import { linuxHost } from '#src/kernel/host.ts'

export interface IsoTools {
  /** Runs xorriso and answers what it prints. */
  run(args: readonly string[], signal: AbortSignal | undefined): Promise<string>
  template: string
  work_dir: string
}

export interface BuiltImage {
  bytes: number
  sha256: string
}

/** Where the answers are in the image. */
const ANSWERS = '/node/answers.json'
const TIMEOUT_MS = 5 * 60_000
const SPARE_BYTES = 64 * 1024 * 1024
const MAX_OUTPUT_BYTES = 1024 * 1024
const REPORT = ['-report_el_torito', 'plain', '-report_system_area', 'plain']
const QUIET = ['-no_rc', '-abort_on', 'FAILURE', '-return_with', 'FAILURE', '32', '-report_about', 'WARNING']

/** Writes the image to `path`. Nothing of the request becomes an argument or the name of a file. */
export async function buildImage(
  { run: runTool, template, work_dir }: IsoTools,
  path: string,
  answers: unknown,
  signal?: AbortSignal,
): Promise<BuiltImage> {
  await mkdir(work_dir, { recursive: true, mode: 0o700 })
  await requireSpace(work_dir, template)
  const folder = join(work_dir, `build-${randomUUID()}`)
  await mkdir(folder, { mode: 0o700 })
  try {
    const [file, image, copy] = ['answers.json', 'image.iso', 'copy.json'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    const text = JSON.stringify(answers)
    await writeFile(file, text, { mode: 0o600 })
    const run = (args: readonly string[]): Promise<string> => runTool([...QUIET, ...args], signal)
    const [source, target] = [
      ['-indev', template, ...REPORT, '-outdev', image],
      ['-map', file, ANSWERS],
    ]
    const wanted = await run([
      ...source,
      '-boot_image',
      'any',
      'replay',
      ...target,
      '-chmod',
      '0400',
      ANSWERS,
      '--',
      '-commit',
    ])
    const made = await run(['-osirrox', 'on', '-indev', image, ...REPORT, '-extract', ANSWERS, copy])
    if ((await readFile(copy, 'utf8')) !== text) throw broken('its answers read back differently')
    if (!/^boot /m.test(bootRecordsOf(wanted))) throw broken('no machine starts from the template')
    if (bootRecordsOf(made) !== bootRecordsOf(wanted)) throw broken('its boot records are not those of the template')
    const built = { bytes: (await stat(image)).size, sha256: await sha256Of(image) }
    await rename(image, path)
    return built
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The image of this path, where it is still there. */
export async function imageAt(path: string): Promise<BuiltImage | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? undefined : { bytes: found.size, sha256: await sha256Of(path) }
}

async function requireSpace(work_dir: string, template: string): Promise<void> {
  const found = await stat(template).catch((cause: unknown) => {
    throw new ApiError('INSTALLER_NOT_CONFIGURED', `The template ${template} cannot be read; see installer.template.`, {
      cause,
    })
  })
  const { bavail, bsize } = await statfs(work_dir)
  const needed = found.size + SPARE_BYTES
  if (bavail * bsize >= needed) return
  throw new ApiError(
    'INSTALLER_NOT_CONFIGURED',
    `${work_dir} has ${Math.floor((bavail * bsize) / 1024 ** 2)} MiB free, and ${Math.ceil(needed / 1024 ** 2)} MiB are needed; see installer.work_dir.`,
  )
}

/** Kinds of boot records and partitions in their order. Their places differ, because the image has a file more. */
// `El Torito boot img : 1 BIOS y none …`, `System area summary: …`, `GPT type GUID : 2 28732a…` without numbers of blocks.
export function bootRecordsOf(report: string): string {
  const lines = report.split('\n').flatMap((line) => {
    const [name, value] = [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]
    const words = value.split(/\s+/)
    if (name === 'El Torito boot img') return [`boot ${words.slice(1, 4).join(' ')}`]
    if (name === 'System area summary') return [`system area ${value}`]
    if (name === 'MBR partition') return [`mbr ${words.slice(1, 3).join(' ')}`]
    if (name === 'GPT type GUID') return [`gpt ${words[1] ?? ''}`]
    return []
  })
  // Padding at the end of an image is a partition of its own, where there is any.
  const efi = lines.findLastIndex((line) => line.startsWith('gpt 2873'))
  return lines.filter((line, at) => !(line.startsWith('gpt a2a0') && at > efi && efi !== -1)).join('\n')
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path)) hash.update(part as Buffer)
  return hash.digest('hex')
}

function broken(why: string, cause?: unknown): ApiError {
  return new ApiError(
    'INSTALL_FAILED',
    `The image of the node could not be made: ${why}. Check installer.template and installer.xorriso.`,
    { cause },
  )
}

/** Its environment is not ours, which may hold keys of the platform. */
export function xorrisoRunner(xorriso: string): IsoTools['run'] {
  const host = linuxHost()
  const limits = { timeout_ms: TIMEOUT_MS, max_bytes: MAX_OUTPUT_BYTES }
  return async (args, signal) => {
    const run = await host.run(xorriso, args, { ...limits, ...(signal === undefined ? {} : { signal }) })
    if (run.outcome === 'exited' && run.exit_code === 0) return run.stdout
    signal?.throwIfAborted()
    if (run.outcome !== 'missing')
      throw broken('xorriso failed', new Error(`${run.outcome} ${run.exit_code}: ${run.stderr}`))
    throw new ApiError(
      'INSTALLER_NOT_CONFIGURED',
      `The program ${xorriso} is not there: install xorriso, or set installer.xorriso.`,
    )
  }
}

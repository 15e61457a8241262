// Runs the real benchmark tool in a private folder, refuses what would harm, and kills runs in every way.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  statfs,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { BenchmarkResult, DiskBenchmarkRequest } from '#src/contract/storage/benchmark.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { createFileHistory } from '#src/node/benchmark/history.ts'
import { type Benchmarks, createBenchmarks } from '#src/node/benchmark/index.ts'
import type { RunProgress } from '#src/node/benchmark/runs.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const SMALL = { custom_profile: { read_write: 'randrw', test_size: '16M', num_jobs: 2 }, duration_sec: 3 } as const
const LONG = { profile_id: 'rand-read-4k', custom_profile: { test_size: '16M' }, duration_sec: 60 } as const

describe('disk benchmark', { skip: toolMissing() ?? false, timeout: 400_000 }, () => {
  let base: string
  let folder: string
  let heard: RunProgress[]
  let node: Benchmarks
  before(async () => {
    base = await realpath(tempFolder('gp-bench-'))
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(base, 'run-'))
    heard = []
    node = await start()
  })
  after(() => rm(base, { recursive: true, force: true }))

  it('measures both directions of a mixed run, tells rates meanwhile, stores the result and leaves no file', async () => {
    const result = await disk({ ...SMALL, target: folder })
    assert.equal(result.status, 'completed', result.error)
    assert.deepEqual([result.type, result.profile, result.target], ['disk', 'custom', folder])
    for (const io of [result.read, result.write]) {
      assert.ok((io.total_ios ?? 0) > 0 && (io.iops ?? 0) > 0 && (io.bandwidth_kbps ?? 0) > 0)
      assert.ok((io.latency_p50_us ?? 0) <= (io.latency_p999_us ?? 0))
    }
    assert.ok(result.duration_seconds >= 3)
    assert.ok(
      heard.some(
        ({ percent, result: live }) => percent < 100 && live.status === 'running' && (live.read.iops ?? 0) > 0,
      ),
    )
    assert.deepEqual(await readdir(folder), [])
    const again = await start()
    assert.deepEqual(await again.handlers.benchmarkResultRead(input({ id: result.id }), context()), result)
    const list = await again.handlers.benchmarkResultList({ ...input(undefined), query: { type: 'disk' } }, context())
    assert.deepEqual(
      list.results.map(({ id, raw_output }) => [id, raw_output]),
      [[result.id, '']],
    )
  })

  it('runs one disk benchmark at a time, answers at once when asked to, and ends it on cancel', async () => {
    const running = await disk({ ...LONG, target: folder }, { prefer_async: true })
    assert.equal(running.status, 'running')
    await assert.rejects(disk({ ...SMALL, target: folder }), code('BENCHMARK_RUNNING'))
    await until('it measures', () => heard.some(({ result }) => result.read.iops !== null))
    const pids = await toolsBelow(process.pid)
    assert.ok(pids.length > 0, 'the tool is not running')
    const cancelled = await node.handlers.benchmarkCancel(input({ id: running.id }), context())
    assert.deepEqual([cancelled.status, cancelled.error], ['failed', 'the run was cancelled'])
    assert.deepEqual(await toolsBelow(process.pid), [])
    assert.deepEqual(await node.handlers.benchmarkCancel(input({ id: running.id }), context()), cancelled)
    assert.equal((await disk({ ...SMALL, duration_sec: 1, target: folder })).status, 'completed')
  })

  it('ends the run when the client goes away', async () => {
    const client = new AbortController()
    const answer = disk({ ...LONG, target: folder }, { signal: client.signal })
    await until('it measures', () => heard.some(({ result }) => result.read.iops !== null))
    client.abort()
    assert.equal((await answer).status, 'failed')
    assert.deepEqual(await toolsBelow(process.pid), [])
  })

  it('does not outlive an agent that is killed: no tool, no file, and the run ends on record', async () => {
    const history = join(base, 'killed')
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'benchmark-agent.ts'), history, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(agent.stdout, 'data')
    const tools = await toolsBelow(agentPid(agent))
    assert.ok(tools.length > 0, 'the tool is not running')
    agent.kill('SIGKILL')
    await once(agent, 'exit')
    await until('the tools have ended', async () => (await alive(tools)).length === 0)
    assert.deepEqual(await readdir(folder), [])
    const next = await start(history)
    await next.recover()
    const { results } = await next.handlers.benchmarkResultList({ ...input(undefined), query: {} }, context())
    assert.deepEqual(
      results.map(({ status, error }) => [status, error]),
      [['failed', 'the agent ended during the run']],
    )
  })

  it('removes files of dead makers at start and leaves those of living ones', async () => {
    const dead = `.groundplane-benchmark-${process.pid}-1-${'0'.repeat(16)}`
    const mine = (await readFile(`/proc/${process.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[19] ?? ''
    const living = `.groundplane-benchmark-${process.pid}-${mine}-${'0'.repeat(16)}`
    for (const name of [dead, living, 'other']) await writeFile(join(folder, name), '')
    await node.recover()
    assert.deepEqual((await readdir(folder)).sort(), [living, 'other'].sort())
  })

  it('refuses targets that could do harm before anything is written', async () => {
    await mkdir(join(folder, 'real'))
    await symlink(join(folder, 'real'), join(folder, 'link'))
    await writeFile(join(folder, 'file'), 'kept')
    const targets = [
      'relative',
      `${folder}/real/..`,
      `${folder}//real`,
      join(folder, 'link'),
      join(folder, 'missing'),
      join(folder, 'file'),
      '/dev/null',
      '/proc',
      '/dev/shm',
      `${folder}\n`,
    ]
    for (const target of targets) {
      await assert.rejects(disk({ ...SMALL, target }), (error) => {
        assert.ok(error instanceof ApiError && error.code === 'BENCHMARK_TARGET_REFUSED', `${target}: ${String(error)}`)
        assert.equal(error.errors?.[0]?.path, 'target')
        return true
      })
    }
    assert.deepEqual((await readdir(folder)).sort(), ['file', 'link', 'real'])
    assert.equal(await readFile(join(folder, 'file'), 'utf8'), 'kept')
    assert.deepEqual(await readdir(join(folder, 'real')), [])
  })

  it('refuses a test file that would fill the file system', async () => {
    const { bavail, bsize } = await statfs(folder)
    const gib = Math.ceil((bavail * bsize) / 2 ** 30)
    if (gib > 64) return
    await assert.rejects(
      disk({ ...SMALL, custom_profile: { ...SMALL.custom_profile, test_size: `${gib}G` }, target: folder }),
      /may be used/,
    )
  })

  it('never writes to a disk that is in use, whatever serial is confirmed', async (t) => {
    const root = mountedDisk()
    if (root === null) return t.skip('the root file system is not on a disk')
    for (const profile_id of ['seq-write-1m', 'randrw-70-30-4k']) {
      const request = { profile_id, target: root.path, confirm_serial: root.serial, duration_sec: 1 }
      await assert.rejects(disk(request), /needs a blank device: .*in use at/)
    }
    if (
      !(await open(root.path)
        .then((file) => file.close())
        .then(
          () => true,
          () => false,
        ))
    ) {
      return t.skip('this machine does not let the disk be opened')
    }
    const read = await disk({
      profile_id: 'latency-4k',
      custom_profile: { test_size: '16M' },
      duration_sec: 1,
      target: root.path,
    })
    assert.equal(read.status, 'completed', read.error)
  })

  it('overwrites a blank device only when its serial number is confirmed, and none that carries a signature', async (t) => {
    const device = await loopDevice(folder)
    if (device === null) return t.skip('needs loop devices')
    try {
      const seen = { type: 'disk', serial: 'BLANK-1' }
      node = await start(undefined, disguised(seen))
      const write = {
        profile_id: 'seq-write-1m',
        custom_profile: { test_size: '16M' },
        duration_sec: 1,
        target: device,
      } as const
      await assert.rejects(disk(write), /confirm_serial/)
      await assert.rejects(disk({ ...write, confirm_serial: 'OTHER' }), /confirm_serial/)
      await assert.rejects(
        disk({ ...write, custom_profile: { test_size: '1G' }, confirm_serial: 'BLANK-1' }),
        /test_size/,
      )
      assert.equal(await firstBytes(device), 'untouched')
      const result = await disk({ ...write, confirm_serial: 'BLANK-1' })
      assert.equal(result.status, 'completed', result.error)
      assert.notEqual(await firstBytes(device), 'untouched')
      execFileSync('mkswap', [device], { stdio: 'ignore' })
      await assert.rejects(disk({ ...write, confirm_serial: 'BLANK-1' }), /signature of swap/)
      seen.type = 'loop'
      await assert.rejects(disk({ ...write, confirm_serial: 'BLANK-1' }), /not a whole disk/)
      const read = await disk({
        profile_id: 'seq-read-1m',
        custom_profile: { test_size: '16M' },
        duration_sec: 1,
        target: device,
      })
      assert.equal(read.status, 'completed', read.error)
    } finally {
      execFileSync('losetup', ['-d', device])
    }
  })

  it('answers 503 with tool and package when the tool is missing', async () => {
    const store = await createFileHistory(join(base, 'none'))
    const bare = createBenchmarks({
      host: linuxHost(),
      store,
      temp_folder: folder,
      tools: { fio: '/nowhere/fio', rados: '/nowhere/rados', rbd: '/nowhere/rbd' },
    })
    const { handlers } = bare
    const body = { pool_name: 'p' }
    await assert.rejects(
      async () => handlers.benchmarkDiskRun({ ...input(undefined), body: SMALL }, context()),
      /not installed: fio \(package fio\)/,
    )
    await assert.rejects(
      async () => handlers.benchmarkPoolRun({ ...input(undefined), body }, context()),
      /rados \(package ceph-common\)/,
    )
    await assert.rejects(
      async () =>
        handlers.benchmarkBlockImageRun({ ...input(undefined), body: { ...body, image_name: 'i' } }, context()),
      code('BENCHMARK_TOOL_MISSING'),
    )
  })

  async function start(
    history = join(folder, '..', `${folder.split('-').at(-1)}.history`),
    host: Host = linuxHost(),
  ): Promise<Benchmarks> {
    const store = await createFileHistory(history)
    return createBenchmarks({
      host,
      store,
      temp_folder: folder,
      publish: (progress) => heard.push(progress),
    })
  }

  async function disk(
    body: DiskBenchmarkRequest,
    change: Partial<ReturnType<typeof context>> = {},
  ): Promise<BenchmarkResult> {
    const answer = await node.handlers.benchmarkDiskRun({ ...input(undefined), body }, { ...context(), ...change })
    return answer
  }
})

function context(): { signal: AbortSignal; prefer_async: boolean } {
  return { signal: new AbortController().signal, prefer_async: false }
}

function input<P>(params: P) {
  return { params, query: undefined, body: undefined }
}

function code(wanted: string) {
  return (error: unknown): boolean => error instanceof ApiError && error.code === wanted
}

function toolMissing(): string | null {
  try {
    execFileSync('fio', ['--version'], { stdio: 'ignore' })
    execFileSync('setpriv', ['--version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'needs fio and setpriv'
  }
}

/** Processes named fio whose parent is this one. */
async function toolsBelow(parent: number): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : ''
    const match = /^(\d+) \((.*)\) (\S) (\d+)/.exec(stat)
    if (match?.[2] === 'fio' && match[3] !== 'Z' && Number(match[4]) === parent) found.push(Number(match[1]))
  }
  return found
}

async function alive(pids: readonly number[]): Promise<number[]> {
  const found: number[] = []
  for (const pid of pids)
    if (
      await readlink(`/proc/${pid}/exe`).then(
        (exe) => exe.endsWith('fio'),
        () => false,
      )
    )
      found.push(pid)
  return found
}

function agentPid(agent: ChildProcess): number {
  return agent.pid ?? assert.fail('the agent did not start')
}

function mountedDisk(): { path: string; serial: string } | null {
  try {
    const path = execFileSync('findmnt', ['-n', '-o', 'SOURCE', '/'], { encoding: 'utf8' }).trim()
    if (!path.startsWith('/dev/')) return null
    return { path, serial: execFileSync('lsblk', ['-n', '-d', '-o', 'SERIAL', path], { encoding: 'utf8' }).trim() }
  } catch {
    return null
  }
}

/** A loop device whose first bytes say `untouched`, or null where none can be made. */
async function loopDevice(folder: string): Promise<string | null> {
  const image = join(folder, 'image')
  await writeFile(image, 'untouched')
  await truncate(image, 64 * 2 ** 20)
  try {
    return execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim()
  } catch {
    return null
  }
}

async function firstBytes(path: string): Promise<string> {
  const file = await open(path)
  try {
    return (await file.read(Buffer.alloc(9), 0, 9, 0)).buffer.toString('latin1')
  } finally {
    await file.close()
  }
}

/** This machine, on which lsblk shows a loop device as what a test needs. */
function disguised(seen: { type: string; serial: string }): Host {
  const host = linuxHost()
  return {
    ...host,
    async run(tool, args, options) {
      const result = await host.run(tool, args, options)
      if (tool !== 'lsblk') return result
      const shown: { blockdevices: object[] } = JSON.parse(result.stdout)
      return {
        ...result,
        stdout: JSON.stringify({ blockdevices: shown.blockdevices.map((row) => ({ ...row, ...seen })) }),
      }
    },
  }
}

// Answers on the screen: nothing unknown looks known, nothing hostile reaches the terminal.
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Type } from 'typebox'
import { type OutputOptions, printAnswer } from '../../cli/output.ts'
import { createProgress } from '../../cli/progress.ts'
import type { Terminal, TerminalOutput } from '../../cli/terminal.ts'

interface Screen {
  terminal: Terminal
  stdout(): string
  stderr(): string
}

/** `columns` makes it a terminal of that width; without it both streams are pipes. */
function screen(columns?: number): Screen {
  const outputs = [new PassThrough(), new PassThrough()] as const
  const text = outputs.map((stream) => {
    const parts: string[] = []
    stream.on('data', (chunk: Buffer) => parts.push(chunk.toString()))
    return () => parts.join('')
  })
  const [stdout, stderr] = outputs.map(
    (stream): TerminalOutput => (columns === undefined ? stream : Object.assign(stream, { isTTY: true, columns })),
  )
  assert.ok(stdout !== undefined && stderr !== undefined)
  const terminal = {
    args: [],
    env: {},
    stdin: new PassThrough(),
    stdout,
    stderr,
    interrupted: new AbortController().signal,
  }
  return { terminal, stdout: () => text[0]?.() ?? '', stderr: () => text[1]?.() ?? '' }
}

async function shown(value: unknown, options: Partial<OutputOptions> = {}, columns?: number, schema?: unknown) {
  const target = screen(columns)
  const all = { json: false, quiet: false, utc: true, columns: undefined, ...options }
  await printAnswer(target.terminal, { text: JSON.stringify(value), value }, schema, all)
  await new Promise((resolve) => setImmediate(resolve))
  return { stdout: target.stdout(), stderr: target.stderr() }
}

const AT = '2026-11-20T03:12:45.120Z'

test('a list is a table of telling columns, and says when there is more', async () => {
  const rows = [
    { zone_id: 'z', id: 'a1', name: 'web-1', state: 'Running', created_at: AT, host_id: null },
    { zone_id: 'z', id: 'a2', name: 'web-2', state: null, created_at: AT, host_id: null },
  ]
  const { stdout, stderr } = await shown({ virtual_machines: rows, count: 7, page: 1, page_size: 2 })
  assert.deepEqual(stdout.split('\n'), [
    'NAME   STATE    ID  CREATED_AT            ZONE_ID',
    'web-1  Running  a1  2026-11-20 03:12:45Z  z',
    'web-2  -        a2  2026-11-20 03:12:45Z  z',
    '',
  ])
  assert.match(stderr, /^2 of 7, page 1/)
})

test('a column that was asked for is shown even when it is empty or deep', async () => {
  const rows = [{ id: 'a1', nic: { ip_address: '10.0.0.5' } }]
  const { stdout } = await shown({ rows, count: 1 }, { columns: ['id', 'nic.ip_address', 'nothing'] })
  assert.equal(stdout, 'ID  NIC.IP_ADDRESS  NOTHING\na1  10.0.0.5        -\n')
})

test('a terminal gets the columns that fit, a pipe gets all', async () => {
  const rows = [{ id: 'a1', name: 'n'.repeat(30), state: 'Running', description: 'd'.repeat(40) }]
  const narrow = (await shown({ rows, count: 1 }, {}, 50)).stdout.split('\n')[0]
  const piped = (await shown({ rows, count: 1 })).stdout.split('\n')[0]
  assert.deepEqual(
    [narrow?.split(/ +/), piped?.split(/ +/)],
    [
      ['NAME', 'STATE', 'ID'],
      ['NAME', 'STATE', 'ID', 'DESCRIPTION'],
    ],
  )
})

test('known records have columns of their own', async () => {
  const schema = Type.Object({ jobs: Type.Array(Type.Object({}, { title: 'Job' })) })
  const row = { id: 'j', job_type: 'provision', job_status: 'running', metadata: {}, progress: 5, wipe_report: '' }
  const { stdout } = await shown({ jobs: [row], count: 1 }, {}, undefined, schema)
  assert.equal(stdout.split('\n')[0], 'ID  JOB_TYPE   JOB_STATUS  PROGRESS')
})

test('a record shows its members, and lists of records as tables below', async () => {
  const value = {
    success: true,
    message: 'ok',
    data: { name: 'lan', stats: { free: 0, used: null }, leases: [{ mac: 'm' }] },
  }
  const { stdout } = await shown(value)
  assert.equal(stdout, 'name        lan\nstats.free  0\nstats.used  -\n\nleases:\nMAC\nm\n')
})

test('--json prints the answer byte for byte into a pipe', async () => {
  const target = screen()
  const text = '{"big":12345678901234567890,"list":[ 1 ]}'
  await printAnswer(target.terminal, { text, value: JSON.parse(text) }, undefined, {
    json: true, quiet: false, utc: false, columns: undefined,
  }) // biome-ignore format: options
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(target.stdout(), `${text}\n`)
})

test('names of others cannot send control sequences to the terminal', async () => {
  const hostile = 'web\u001b[2J\u0007\u009b31m\u202egnp'
  for (const value of [
    { rows: [{ id: '1', name: hostile }], count: 1 },
    { name: hostile },
    [hostile],
    { [hostile]: 1 },
  ]) {
    for (const options of [{}, { quiet: true }]) {
      const { stdout, stderr } = await shown(value, options)
      assert.doesNotMatch(stdout + stderr, /(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    }
  }
})

test('progress is a line for each change in a pipe and one redrawn line on a terminal', async () => {
  const [pipe, tty] = [screen(), screen(60)]
  for (const { terminal } of [pipe, tty]) {
    const progress = createProgress(terminal, false)
    for (const percent of [0, 3, 5, 50, 50, 120])
      progress.show(percent, 'Copying\u001b[2J the disk of a very long name that does not fit')
    progress.end()
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    pipe
      .stderr()
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, 5)),
    ['  0 %', ' 50 %', '100 %'],
  )
  const drawn = tty.stderr().split('\r\u001b[K').slice(1)
  assert.ok(drawn.every((line) => line.length < 60 && !line.includes('\n') && !line.includes('\u001b')))
  assert.equal(drawn.at(-1), '')
})

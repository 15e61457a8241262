// The live stream: parsed to the letter of its format, resumed where it broke, ended by Ctrl-C.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSseParser } from '../../cli/sse.ts'
import { startCli, until } from './cli-process.ts'
import { runAt } from './in-process.ts'
import { problem, startEvents, startFakeService } from './fake-service.ts'

test('events are the same however the stream is cut into pieces', () => {
  const text =
    '\uFEFF: hello\r\nretry: 250\r\nid: 7\r\nevent: vm-state\r\ndata: one\r\ndata:two\r\n\r\n' +
    'data: without id\n\nid\ndata: id taken back\n\nevent: nothing\n\nid: a\0b\rdata: last\r\r'
  const whole = createSseParser().feed(`${text}\n`)
  assert.deepEqual(whole, [
    { event: 'vm-state', data: 'one\ntwo', id: '7' },
    { event: 'message', data: 'without id', id: '7' },
    { event: 'message', data: 'id taken back', id: '' },
    { event: 'message', data: 'last', id: '' },
  ])
  for (const size of [1, 2, 3, 7]) {
    const parser = createSseParser()
    const events = []
    for (let at = 0; at < text.length; at += size) events.push(...parser.feed(text.slice(at, at + size)))
    events.push(...parser.feed('\n'))
    assert.deepEqual(events, whole, `pieces of ${size}`)
    assert.equal(parser.retry_ms, 250)
  }
})

test('an unfinished event at the end of a stream is not an event', () => {
  assert.deepEqual(createSseParser().feed('data: cut off\n'), [])
})

test('a broken stream is resumed after the last event, and no event is shown twice', async (t) => {
  const service = await startFakeService({
    'GET /events/sse': (_request, raw) => {
      const send = startEvents(raw)
      const vm = (id: number, state: string): string =>
        `retry: 20\nid: ${id}\nevent: vm-state\ndata: {"id":"v","name":"web-${id}","old_state":"Stopped","new_state":"${state}","at":"2026-11-20T03:12:45.120Z"}\n\n`
      if (service.seen.length === 1) {
        send(vm(11, 'Starting'))
        // A connection that breaks takes what was not read yet with it.
        void until(() => cli.stdout().includes('web-11')).then(() => raw.destroy())
      } else if (service.seen.length === 2) {
        raw.destroy()
      } else send(vm(12, 'Running'))
      return undefined
    },
  })
  t.after(() => service.close())
  const cli = startCli(['events', 'follow', '--channels', 'vm', '--last-event-id', '10'], {
    env: { GROUNDPLANE_URL: service.url, GROUNDPLANE_TOKEN: 'gp_test' },
  })
  await until(() => cli.stdout().includes('web-12'))
  cli.child.kill('SIGINT')
  const result = await cli.done
  assert.equal(result.code, 130)
  assert.deepEqual(result.stdout.trimEnd().split('\n'), [
    '2026-11-20 03:12:45  vm-state   web-11  Stopped -> Starting  v',
    '2026-11-20 03:12:45  vm-state   web-12  Stopped -> Running  v',
  ])
  assert.deepEqual(
    service.seen.map(({ headers }) => headers['last-event-id']),
    ['10', '11', '11'],
  )
  assert.ok(service.seen.every(({ query }) => query.get('channels') === 'vm' && query.get('last_event_id') === null))
  assert.match(result.stderr, /connection lost, trying again\nconnected again\n/)
})

test('one line a change: what is said already is not said again, and each line says of what, and by whom', async (t) => {
  const service = await startFakeService({
    'GET /events/sse': (_request, raw) => {
      const send = startEvents(raw)
      const event = (id: number, type: string, data: object) =>
        send(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
      const start = {
        id: 'e', correlation_id: 'c', status: 'IN_PROGRESS', action: 'vmStart', description: 'Starting virtual machine web-01.',
        error_message: '', resource_uuid: 'v', username: 'mira', created_at: '2026-11-20T03:12:45.120Z', progress: 0,
      } // biome-ignore format: one event
      const job = { id: 'c', job_type: 'call', job_status: 'running', status: 'Waiting.', updated_at: start.created_at }
      event(1, 'app-event', start)
      event(2, 'job', { ...job, progress: 0 })
      event(3, 'app-event', { ...start, progress: 40 })
      event(4, 'job', { ...job, progress: 60 })
      const done = { description: 'Virtual machine web-01 is running.', completed_at: '2026-11-20T03:12:49.004Z' }
      event(5, 'app-event', { ...start, ...done, status: 'SUCCESS', progress: 100 })
      event(6, 'app-event', {
        ...start,
        correlation_id: 'd',
        status: 'FAILED',
        error_message: 'No host.',
        username: '',
      })
      return undefined
    },
  })
  t.after(() => service.close())
  const cli = startCli(['events', 'follow'], { env: { GROUNDPLANE_URL: service.url } })
  await until(() => cli.stdout().includes('No host.'))
  cli.child.kill('SIGINT')
  assert.deepEqual((await cli.done).stdout.trimEnd().split('\n'), [
    '2026-11-20 03:12:45  app-event  IN_PROGRESS  vmStart  Starting virtual machine web-01.  v  by mira',
    '2026-11-20 03:12:45  job        running  call  Waiting.  c',
    '2026-11-20 03:12:49  app-event  SUCCESS  vmStart  Virtual machine web-01 is running.  v  by mira',
    '2026-11-20 03:12:45  app-event  FAILED  vmStart  Starting virtual machine web-01. No host.  v  by -',
  ])
})

test('with --json every event is one line', async (t) => {
  const service = await startFakeService({
    'GET /events/sse': (_request, raw) => {
      startEvents(raw)('id: 3\nevent: job\ndata: {"id":"j","text":"two\\nlines"}\n\n')
      return undefined
    },
  })
  t.after(() => service.close())
  const cli = startCli(['events', 'follow', '--json'], { env: { GROUNDPLANE_URL: service.url } })
  await until(() => cli.stdout().endsWith('\n'))
  cli.child.kill('SIGINT')
  const { stdout } = await cli.done
  assert.deepEqual(JSON.parse(stdout), { id: '3', event: 'job', data: { id: 'j', text: 'two\nlines' } })
})

test('a rejection of the stream ends it with its exit code instead of being tried again', async (t) => {
  const service = await startFakeService({ 'GET /events/sse': () => problem(403, 'FORBIDDEN', 'not you') })
  t.after(() => service.close())
  const result = await runAt(service.url, ['events', 'follow'])
  assert.equal(result.code, 3)
  assert.equal(service.seen.length, 1)
})

// The default state folder depends on who asks and on the checkout, and is always a place that can be written.
import assert from 'node:assert/strict'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { defaultStateDir } from '#src/store/embedded/state-dir.ts'

const USER = { uid: 1000, home: '/home/ada', xdg_state_home: undefined, checkout: '/home/ada/groundplane' }
const always = () => true
const never = () => false

test('root keeps its state under /var/lib, whatever its home is', () => {
  const dir = defaultStateDir({ ...USER, uid: 0, home: '/root', xdg_state_home: '/root/state' }, always)
  assert.match(dir, /^\/var\/lib\/groundplane\/lab-[0-9a-f]{8}$/)
})

test('a user keeps its state in XDG_STATE_HOME, or else in the home', () => {
  assert.match(defaultStateDir({ ...USER, xdg_state_home: '/data/state' }, always), /^\/data\/state\/groundplane\/lab-/)
  assert.match(defaultStateDir(USER, always), /^\/home\/ada\/\.local\/state\/groundplane\/lab-[0-9a-f]{8}$/)
  assert.match(defaultStateDir({ ...USER, xdg_state_home: 'relative' }, always), /^\/home\/ada\/\.local\/state\//)
})

test('two checkouts never share a state folder, one checkout always finds its own', () => {
  assert.notEqual(defaultStateDir({ ...USER, checkout: '/home/ada/other' }, always), defaultStateDir(USER, always))
  assert.equal(
    defaultStateDir({ ...USER, checkout: '/home/ada/x/../groundplane/' }, always),
    defaultStateDir(USER, always),
  )
})

test('without a writable home the state is in the temporary folder, apart from that of other users', () => {
  const dir = defaultStateDir(USER, never)
  assert.equal(path.dirname(dir), os.tmpdir())
  assert.notEqual(dir, defaultStateDir({ ...USER, uid: 1001 }, never))
  assert.equal(path.dirname(defaultStateDir({ ...USER, home: null }, always)), os.tmpdir())
  assert.equal(path.dirname(defaultStateDir({ ...USER, home: '/dev/null/home' })), os.tmpdir())
})

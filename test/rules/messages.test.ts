// Messages of errors name the thing or the value. A sentence of the source that no value is part of, and that names no field,
// setting, header or route either, stands below with its reason.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const SOURCE = join(import.meta.dirname, '../../src')

/** Beginnings of sentences; an error without a sentence of its own is here by its code. */
const NAMELESS: readonly { why: string; sentences: readonly string[] }[] = [
  {
    why: 'The request cannot be read, so that there is no value to repeat.',
    sentences: [
      'The body is not valid UTF-8.', 'The body contains half of a surrogate pair', 'The path or query holds an escape',
      'The path holds an escape', 'Send the body as application/json.', 'Send the form without Content-Encoding.',
      'Open this route as a WebSocket',
    ],
  },
  {
    why: 'A credential is never repeated, and what of it is wrong would help whoever guesses.',
    sentences: [
      'The access token', 'LOGIN_FAILED', 'HOOK_SIGNATURE', 'The enrolment token is not known',
      'No installation that runs has this token', 'There is no such boot image', 'This sign-in was not begun here', 'The sign-in was begun',
      'The answer of the identity provider', 'The user info of the identity provider', 'The request comes from a page of another site',
      'The Origin of the request', 'Too many sign-ins at once', 'Credentials in a request need the role admin',
      'The NVR rejects this password', 'The NVR does not accept this password',
    ],
  },
  {
    why: 'A mistake of ours; the log has it under the id of the request.',
    sentences: ['INTERNAL_ERROR', 'SHUTTING_DOWN'],
  },
  {
    why: 'There is one of it, or none.',
    sentences: [
      'The NVR runs in safe mode', 'The NVR was deleted meanwhile.', 'The NVR has no camera', 'The virtual machine of the NVR has no address',
      'The platform has no zone.',
    ],
  },
  {
    why: 'Said of the machine, node or host that its job is about, which the job names.',
    sentences: ['cancelled'],
  },
  {
    why: 'An agent says it of its own node, whose name the control plane adds.',
    sentences: [
      'The processor offers no virtualisation',
      'No such change of the network is pending', 'The node has no network manager', 'DESIRED_FAILED',
      'The GPUs of this node', 'The LED cannot blink',
    ],
  },
  {
    why: 'The request is named by its idempotency key, which the caller sent.',
    sentences: ['The first request with this key', 'This request took so long'],
  },
  {
    why: 'The platform names nothing, and this service refuses the same before in words of its own, or it is about the service.',
    sentences: [
      'A service offering with ranges', 'A custom service offering', 'Give the affinity groups by id or by name', 'A Running virtual machine can be',
      'The first private port must equal', 'The private ports must be as many',
      'The first port is above', 'The provider is not ready', 'The provider has its element', 'The element belongs to a provider',
      'The compute platform', 'The events cannot be archived', 'An operation with this id', 'The account of this service',
      'The account that this is done for', 'The account needs a type', 'Accounts are locked', 'An account of the compute platform',
      'The root of all tenants', 'A service offering or a virtual machine',
    ],
  },
] // biome-ignore format: lists

/** A field or command in backticks, a setting, a header, a route, or a value that is put in. */
const NAMES = /`|\$\{|\{[a-z_.]+\}|\b[a-z][a-z0-9]+\.[a-z][a-z_]+\b|\bX-[A-Z]|\b(GET|POST|PUT|DELETE) \//

interface Sentence {
  at: string
  text: string
}

function sources(): { path: string; text: string }[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !/^(console|player)\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(SOURCE, path), 'utf8') }))
}

const STRING = String.raw`'((?:[^'\\\n]|\\.)*)'|` + '`((?:[^`\\\\]|\\\\.)*)`'
/** `new ApiError('CODE', 'sentence'`: the sentence undefined where there is none, or where it is not written there. */
const THROWN = new RegExp(String.raw`new ApiError\(\s*'([A-Z_]+)',?\s*(?:\)|undefined|${STRING})`, 'g')
/** Rows of the table by which sentences of the platform are replaced. */
const REPLACED = new RegExp(String.raw`,\s*'([A-Z_]+)',\s*(?:${STRING})`, 'g')

function sentences(): Sentence[] {
  return sources().flatMap(({ path, text }) =>
    [THROWN, ...(path.includes('error-texts') ? [REPLACED] : [])].flatMap((pattern) =>
      [...text.matchAll(pattern)].map((match) => ({
        at: `${path}:${text.slice(0, match.index).split('\n').length}`,
        text: match[2] ?? match[3] ?? match[1] ?? '',
      })),
    ),
  )
}

test('the message of an error names a thing, a field or a value, or stands on the list of those that cannot', () => {
  const all = sentences()
  assert.ok(all.length > 400, `${all.length} sentences were found; the source is written otherwise now`)
  const excepted = NAMELESS.flatMap((row) => row.sentences)
  const nameless = all.filter(({ text }) => !NAMES.test(text))
  assert.deepEqual(
    nameless.filter(({ text }) => !excepted.some((one) => text.startsWith(one))).map(({ at, text }) => `${at} ${text}`),
    [],
  )
  assert.deepEqual(
    excepted.filter((one) => !nameless.some(({ text }) => text.startsWith(one))),
    [],
    'exceptions that are not needed any more',
  )
})

// What is written for the NVR is what both of its releases run with; what people wrote into the file stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import Value from 'typebox/value'
import { readConfigFile } from '../../../../lab/nvr/config-file.ts'
import { readUserData } from '../../../../lab/nvr/first-boot.ts'
import { CameraId } from '#src/contract/cam/common.ts'
import { streamUrlText } from '#src/drivers/onvif/stream-url.ts'
import { type NvrCamera, nvrConfigText, withCamera, withoutCamera } from './nvr-config.ts'
import { ADDRESS_PLACEHOLDER, userData } from './user-data.ts'

const RELEASES = ['0.16', '0.17'] as const
const login = fc.record({
  username: fc.string({ unit: 'grapheme', minLength: 1 }),
  password: fc.string({ unit: 'grapheme', minLength: 1 }),
})
const url = login.map((one) => streamUrlText({ scheme: 'rtsp', host: '192.0.2.9', port: 554, path: '/a?{b}=1' }, one))
const maybe_url = fc.oneof(fc.constant(''), url)
const camera: fc.Arbitrary<NvrCamera> = fc.record({
  id: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/).filter((id) => Value.Check(CameraId, id)),
  name: fc.string({ unit: 'grapheme', maxLength: 40 }),
  main_stream_url: url,
  sub_stream_url: maybe_url,
  audio_stream_url: maybe_url,
  has_audio: fc.boolean(),
  is_h264: fc.constantFrom(true, false, null),
})

test('every camera, with any login, gives a file that both releases run with, and its streams hold the login as it was', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(camera, { selector: ({ id }) => id, minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (cameras, has_gpu) => {
        for (const release of RELEASES) {
          const text = nvrConfigText({ release, address: '192.0.2.1', has_gpu, cameras })
          const reading = readConfigFile(text, release)
          assert.equal(reading.outcome, 'runs', JSON.stringify(reading))
          for (const { main_stream_url } of cameras) {
            const [, user = '', password = ''] = /^rtsp:\/\/([^:]*):([^@]*)@/.exec(main_stream_url) ?? []
            assert.ok(text.includes(`${user}:${password}@192.0.2.9:554/a?%7Bb%7D=1`))
          }
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('a camera that is added and removed leaves the file as it was, comments and all', () => {
  fc.assert(
    fc.property(camera, camera, fc.constantFrom(...RELEASES), (first, second, release) => {
      fc.pre(!second.id.startsWith(first.id) && !first.id.startsWith(second.id))
      const text = `# by hand\n${nvrConfigText({ release, address: '192.0.2.1', has_gpu: false, cameras: [first] })}`
      const both = withCamera(text, second, { release, has_gpu: false })
      assert.equal(readConfigFile(both, release).outcome, 'runs')
      assert.equal(withoutCamera(both, second.id), text)
    }),
    { numRuns: 30 },
  )
  assert.throws(() => withoutCamera('a: [', 'x'))
})

test('the first boot reads back what it was given: configuration with its address, certificate and password', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 12 }), camera, (admin_password, one) => {
      const config = nvrConfigText({ release: '0.17', address: ADDRESS_PLACEHOLDER, has_gpu: false, cameras: [one] })
      const boot = {
        config,
        certificate: 'c\nd\n',
        key: 'k\n',
        admin_password,
        image: 'nvr:1',
        port: 9000,
        has_gpu: true,
      }
      const text = userData(boot)
      assert.ok(text.startsWith('#cloud-config\n'))
      const read = readUserData(Buffer.from(text, 'utf8').toString('base64'), '192.0.2.7')
      assert.deepEqual(read, {
        config_file: config.replace(ADDRESS_PLACEHOLDER, '192.0.2.7'),
        certificate: { cert: 'c\nd\n', key: 'k\n' },
        admin_password,
        port: 9000,
      })
    }),
    { numRuns: 30 },
  )
})

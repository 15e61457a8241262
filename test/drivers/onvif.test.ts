// The probe of a camera: what it reads of cameras of all kinds, what it costs a camera whose password is wrong, and how each
// way of failing is called.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { after, test } from 'node:test'
import { OnvifError } from '#src/drivers/onvif/onvif-error.ts'
import { probeCamera } from '#src/drivers/onvif/probe.ts'
import { digestChallenge } from '#src/drivers/onvif/http-digest.ts'
import { streamUrlOf } from '#src/drivers/onvif/stream-url.ts'
import { describeStream, descriptionOf } from '#src/drivers/rtsp/describe.ts'

const PASSWORD = 'p %@:/{}é"&<'
const USERNAME = 'ad&min'
const login = { username: USERNAME, password: PASSWORD }

/** Own addresses of loopback: cameras have well-known ports. */
const SUBNET = `127.${60 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}`
let last_host = 0
const closes: (() => Promise<unknown>)[] = []
after(async () => {
  for (const close of closes) await close()
})

interface CameraOptions {
  auth?: 'wsse' | 'digest' | 'none'
  /** Also what ONVIF leaves open needs a login. */
  all_protected?: boolean
  skew_ms?: number
  locks_after?: number
  h265?: boolean
  old?: boolean
  no_media?: boolean
  silent_from?: string
  port?: number
  discovery?: boolean
  html?: boolean
}

const envelope = (body: string) =>
  `<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:tds="a" xmlns:trt="b" xmlns:tt="c" xmlns:ter="http://www.onvif.org/ver10/error"><SOAP-ENV:Body>${body}</SOAP-ENV:Body></SOAP-ENV:Envelope>`
const NOT_AUTHORIZED = envelope(
  '<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:NotAuthorized</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">Sender not Authorized</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>',
)
const UNSUPPORTED = envelope(
  '<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Receiver</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:ActionNotSupported</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text>no</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>',
)

async function startCamera(options: CameraOptions = {}) {
  const ip = `${SUBNET}.${(last_host += 1)}`
  const { auth = 'wsse', skew_ms = 0 } = options
  const seen = { attempts: 0, failures: 0, operations: [] as string[], bodies: [] as string[] }
  const silent = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const [, operation = ''] = /<s:Body><\w+:(\w+)/.exec(body) ?? []
      seen.operations.push(operation)
      seen.bodies.push(body)
      if (options.silent_from === operation) return silent.resolve()
      if (options.html === true) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>no</h1>')
      const open = ['GetSystemDateAndTime', 'GetServices', 'GetCapabilities'].includes(operation)
      const free = auth === 'none' || (open && options.all_protected !== true)
      const given = credentials(request, body, skew_ms)
      if (given !== undefined && !free) {
        seen.attempts += 1
        if (!given) seen.failures += 1
      }
      const locked = options.locks_after !== undefined && seen.failures >= options.locks_after
      if (!free && (given !== true || locked)) {
        if (auth === 'digest')
          response.setHeader('www-authenticate', [
            'Basic realm="x"',
            'Digest realm="cam", qop="auth", nonce="n1", algorithm=MD5',
          ])
        return void response.writeHead(auth === 'digest' ? 401 : 400).end(auth === 'digest' ? '' : NOT_AUTHORIZED)
      }
      const answer = answerTo(operation, body, options, new Date(Date.now() + skew_ms))
      response.writeHead(answer === UNSUPPORTED ? 500 : 200).end(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 8000, ip, resolve))
  closes.push(async () => server.close().closeAllConnections())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  if (options.discovery === true) {
    const socket = createSocket('udp4')
    socket.on('message', (_message, from) => {
      const urls = `http://10.9.9.9:${port}/onvif/other_service http://[fe80::1]/x`
      socket.send(
        envelope(
          `<d:ProbeMatches xmlns:d="d"><d:ProbeMatch><d:XAddrs>${urls}</d:XAddrs></d:ProbeMatch></d:ProbeMatches>`,
        ),
        from.port,
        from.address,
      )
    })
    await new Promise<void>((resolve) => socket.bind(3702, ip, resolve))
    closes.push(async () => socket.close())
  }
  return { ip, seen, silent: silent.promise }
}

/** Whether the login that came is right; undefined: none came. */
function credentials(request: IncomingMessage, body: string, skew_ms: number): boolean | undefined {
  const digest = request.headers.authorization
  if (digest !== undefined) {
    const member = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(digest)?.[1] ?? ''
    const md5 = (text: string) => createHash('md5').update(text, 'utf8').digest('hex')
    const request_hash = md5(`POST:${request.url}`)
    return (
      member('response') ===
      md5(`${md5(`${USERNAME}:cam:${PASSWORD}`)}:n1:${member('nc')}:${member('cnonce')}:auth:${request_hash}`)
    )
  }
  const text = (name: string) => new RegExp(`<\\w:${name}(?: [^>]*)?>([^<]*)`).exec(body)?.[1] ?? ''
  if (text('Nonce') === '') return undefined
  const created = text('Created')
  const far = Math.abs(new Date(created).getTime() - (Date.now() + skew_ms)) > 30_000
  const hash = createHash('sha1')
    .update(Buffer.from(text('Nonce'), 'base64'))
    .update(created)
    .update(PASSWORD, 'utf8')
  return !far && text('Username').replace('&#38;', '&') === USERNAME && hash.digest('base64') === text('Password')
}

const profile = (token: string, width: number, height: number) =>
  `<trt:Profiles token="${token}" fixed="true"><tt:Name>${token} &amp; co</tt:Name><tt:VideoEncoderConfiguration token="e"><tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>${width}</tt:Width><tt:Height>${height}</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>25</tt:FrameRateLimit></tt:RateControl></tt:VideoEncoderConfiguration></trt:Profiles>`

function answerTo(operation: string, body: string, options: CameraOptions, now: Date): string {
  const service = (space: string, path: string) =>
    `<tds:Service><tds:Namespace>${space}</tds:Namespace><tds:XAddr>http://192.168.9.9:8000/onvif/${path}</tds:XAddr></tds:Service>`
  const media = 'http://www.onvif.org/ver10/media/wsdl'
  switch (operation) {
    case 'GetSystemDateAndTime':
      return envelope(
        `<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:UTCDateTime><tt:Time><tt:Hour>${now.getUTCHours()}</tt:Hour><tt:Minute>${now.getUTCMinutes()}</tt:Minute><tt:Second>${now.getUTCSeconds()}</tt:Second></tt:Time><tt:Date><tt:Year>${now.getUTCFullYear()}</tt:Year><tt:Month>${now.getUTCMonth() + 1}</tt:Month><tt:Day>${now.getUTCDate()}</tt:Day></tt:Date></tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>`,
      )
    case 'GetServices':
      if (options.old === true) return UNSUPPORTED
      return envelope(
        `<tds:GetServicesResponse>${service('http://www.onvif.org/ver10/device/wsdl', 'device_service')}${options.no_media === true ? '' : service(media, 'media')}${options.h265 === true ? service('http://www.onvif.org/ver20/media/wsdl', 'media2') : ''}</tds:GetServicesResponse>`,
      )
    case 'GetCapabilities':
      if (options.no_media === true)
        return envelope('<tds:GetCapabilitiesResponse><tds:Capabilities/></tds:GetCapabilitiesResponse>')
      return envelope(
        '<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>http://0.0.0.0:8000/onvif/media</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>',
      )
    case 'GetDeviceInformation':
      return envelope(
        '<tds:GetDeviceInformationResponse><tds:Manufacturer>ACME &amp; Co</tds:Manufacturer><tds:Model>1080</tds:Model><tds:FirmwareVersion>5.10</tds:FirmwareVersion><tds:SerialNumber>12345678901234567890</tds:SerialNumber><tds:HardwareId>88</tds:HardwareId></tds:GetDeviceInformationResponse>',
      )
    case 'GetProfiles':
      if (body.includes('<tr2:GetProfiles')) {
        return envelope(
          '<tr2:GetProfilesResponse xmlns:tr2="x"><tr2:Profiles token="b"><tr2:Name>b</tr2:Name><tr2:Configurations><tr2:VideoEncoder token="e"><tt:Encoding>H265</tt:Encoding><tt:Resolution><tt:Width>1920</tt:Width><tt:Height>1080</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>12.5</tt:FrameRateLimit></tt:RateControl></tr2:VideoEncoder></tr2:Configurations></tr2:Profiles></tr2:GetProfilesResponse>',
        )
      }
      return envelope(
        `<trt:GetProfilesResponse>${profile('c', 640, 360)}${profile('b', 1920, 1080)}<trt:Profiles token="audio"/>${profile('a', 1920, 1080)}</trt:GetProfilesResponse>`,
      )
    case 'GetStreamUri': {
      const [, token = ''] = /ProfileToken>([^<]*)</.exec(body) ?? []
      return envelope(
        `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri> rtsp://old:login@10.0.0.9:555/cam?channel=1&amp;token=${token} </tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`,
      )
    }
    default:
      return UNSUPPORTED
  }
}

const rejection = (reason: OnvifError['reason']) => (error: unknown) => {
  assert.ok(error instanceof OnvifError, String(error))
  assert.equal(error.reason, reason, error.detail)
  const shown = JSON.stringify([error.message, error.detail, error.meaning()])
  assert.ok(!shown.includes(PASSWORD) && !shown.includes(USERNAME), shown)
  return true
}

const AS_URL = 'rtsp://ad%26min:p%20%25%40%3A%2F%7B%7D%C3%A9%22%26%3C@'

for (const auth of ['wsse', 'digest', 'none'] as const) {
  test(`a camera with the sign-in ${auth} and a clock of its own tells what it is and its streams, with the login in each URL`, async () => {
    const camera = await startCamera({ auth, skew_ms: -400 * 86_400_000 })
    const found = await probeCamera({ ip: camera.ip, ...login })
    const { profiles, ...device } = found
    assert.deepEqual(device, {
      manufacturer: 'ACME & Co', model: '1080', firmware_version: '5.10', serial_number: '12345678901234567890', hardware_id: '88',
      main_stream_url: `${AS_URL}${camera.ip}:555/cam?channel=1&token=a`,
      sub_stream_url: `${AS_URL}${camera.ip}:555/cam?channel=1&token=c`,
    }) // biome-ignore format: short names
    assert.deepEqual(profiles.map(({ token, name, codec, width, height, framerate }) => [token, name, codec, width, height, framerate]), [
      ['a', 'a & co', 'H264', 1920, 1080, 25],
      ['b', 'b & co', 'H264', 1920, 1080, 25],
      ['c', 'c & co', 'H264', 640, 360, 25],
    ]) // biome-ignore format: a table
    assert.equal(camera.seen.failures, 0)
    assert.ok(camera.seen.bodies.every((body) => !body.includes(PASSWORD)))
  })

  test(`a wrong password costs a camera with the sign-in ${auth} at most one attempt`, async () => {
    const camera = await startCamera({ auth, locks_after: 3, all_protected: true })
    const probe = probeCamera({ ip: camera.ip, username: USERNAME, password: 'wrong' })
    if (auth === 'none') await probe
    else await assert.rejects(probe, rejection('credentials'))
    assert.equal(camera.seen.attempts, auth === 'none' ? 0 : 1)
  })
}

test('a camera that wants the login for everything is probed', async () => {
  const camera = await startCamera({ all_protected: true })
  assert.equal((await probeCamera({ ip: camera.ip, ...login })).model, '1080')
})

test('an account that the camera has locked counts as rejected', async () => {
  const camera = await startCamera({ locks_after: 0 })
  await assert.rejects(probeCamera({ ip: camera.ip, ...login }), rejection('credentials'))
})

test('an H.265 camera is told by the second media service, an old one by its capabilities', async () => {
  const camera = await startCamera({ h265: true })
  const { profiles } = await probeCamera({ ip: camera.ip, ...login })
  assert.deepEqual(profiles.map(({ token, codec, framerate }) => [token, codec, framerate]), [['a', 'H264', 25], ['b', 'H265', 13], ['c', 'H264', 25]]) // biome-ignore format: a table
  const old = await startCamera({ old: true })
  assert.equal((await probeCamera({ ip: old.ip, ...login })).profiles.length, 3)
})

test('a service on another port is found by discovery, whatever host the camera says it has', async () => {
  const camera = await startCamera({ discovery: true, port: 0, auth: 'none', no_media: true })
  await assert.rejects(probeCamera({ ip: camera.ip, ...login }), rejection('unsupported'))
  assert.ok(camera.seen.operations.includes('GetServices'))
})

test('what is no camera, has no media or no stream, and what is not there, are told apart', async () => {
  const page = await startCamera({ html: true })
  await assert.rejects(probeCamera({ ip: page.ip, ...login }), rejection('unsupported'))
  const blind = await startCamera({ no_media: true })
  await assert.rejects(probeCamera({ ip: blind.ip, ...login }), rejection('unsupported'))
  await assert.rejects(probeCamera({ ip: `${SUBNET}.250`, ...login }), rejection('unreachable'))
})

test('a camera that falls silent is given up, and so is one whose prober has gone', async () => {
  const camera = await startCamera({ silent_from: 'GetProfiles' })
  const gone = new AbortController()
  const probe = probeCamera({ ip: camera.ip, ...login }, gone.signal)
  await Promise.race([camera.silent, probe])
  gone.abort()
  await assert.rejects(probe, rejection('unreachable'))
})

test('a stream URL keeps path and query, loses the login and the options it came with, and goes to the address probed', () => {
  const of = (text: string) => streamUrlOf(text, 'fd00::5', { username: 'a b', password: '%@:/{}é' })
  const user = 'rtsp://a%20b:%25%40%3A%2F%7B%7D%C3%A9@[fd00::5]'
  assert.equal(
    of('rtsp://x:y@z@0.0.0.0:8554/Streaming/Channels/101?a=b&c={d}'),
    `${user}:8554/Streaming/Channels/101?a=b&c={d}`,
  )
  assert.equal(of('RTSP://[fe80::1]/live#exec=x'), `${user}/live`)
  for (const bad of ['http://h/x', 'exec:ls', 'rtsp://', 'rtsp://h/a b', 'rtsp://h:99999/', 'rtsp://h/\r\nx', ''])
    assert.equal(of(bad), undefined, bad)
})

test('of several challenges the strongest that is known is answered', () => {
  assert.equal(
    digestChallenge([
      'Basic realm="a", Digest realm="b", nonce="1", qop="auth,auth-int"',
      'Digest realm="c", nonce="2", algorithm=SHA-256, qop="auth"',
    ])?.nonce,
    '2',
  )
  assert.equal(
    digestChallenge(['Digest realm="b", nonce="1", algorithm=SHA-512-256', 'Digest nonce="3", qop="auth-int"']),
    undefined,
  )
  assert.equal(digestChallenge(['Digest realm="a, \\"b\\"", nonce="4"'])?.realm, 'a, "b"')
})

const SDP = (video: string, audio = '') => `v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\n${video}${audio}`
const VIDEO = (name: string) => `m=video 0 RTP/AVP 96\r\na=rtpmap:96 ${name}/90000\r\na=control:trackID=0\r\n`

test('the codecs of a stream are read from its description', () => {
  const audio = 'm=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/16000\r\n'
  assert.deepEqual(descriptionOf(SDP(VIDEO('H264'), audio)), { video_codec: 'H264', audio_codec: 'MPEG4-GENERIC' })
  assert.deepEqual(descriptionOf(SDP(VIDEO('h265'), 'm=audio 0 RTP/AVP 8\r\n')), {
    video_codec: 'H265',
    audio_codec: 'PCMA',
  })
  assert.deepEqual(descriptionOf(SDP('m=video 0 RTP/AVP 26\r\n')), { video_codec: 'JPEG', audio_codec: null })
  assert.deepEqual(descriptionOf(SDP('')), { video_codec: null, audio_codec: null })
})

test('a stream is described after one sign-in; a wrong password and a wrong path are told apart from silence', async () => {
  let attempts = 0
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      const [, path = '', sequence = ''] = /^DESCRIBE rtsp:\/\/[^/]+(\S*) RTSP\/1\.0\r\nCSeq: (\d+)/.exec(text) ?? []
      const reply = (status: string, body = '') =>
        socket.write(`RTSP/1.0 ${status}\r\nCSeq: ${sequence}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      if (path === '/garbage') return void socket.end('HTTP/1.1 200 OK\r\n\r\n')
      const sent = /response="(\w+)"/.exec(text)?.[1]
      if (sent === undefined) return void reply('401 Unauthorized\r\nWWW-Authenticate: Digest realm="r", nonce="n"')
      attempts += 1
      const md5 = (value: string) => createHash('md5').update(value, 'utf8').digest('hex')
      const uri = /uri="([^"]+)"/.exec(text)?.[1] ?? ''
      if (sent !== md5(`${md5(`${USERNAME}:r:${PASSWORD}`)}:n:${md5(`DESCRIBE:${uri}`)}`))
        return void reply('401 Unauthorized\r\nWWW-Authenticate: Digest realm="r", nonce="n"')
      const body = SDP(VIDEO('H264'))
      // In two parts, as networks do.
      if (path === '/main')
        return void socket.write(
          `RTSP/1.0 200 OK\r\nCSeq: ${sequence}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`,
          () => setImmediate(() => socket.write(body.slice(20))),
        )
      reply('404 Not Found')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closes.push(async () => server.close())
  const address = server.address()
  const base = `rtsp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const status = (path: string, password = PASSWORD) =>
    describeStream(base + path, { login: { username: USERNAME, password } }).then(
      ({ video_codec }) => video_codec,
      (error: unknown) => (error instanceof Error && 'status' in error ? error.status : error),
    )
  assert.equal(await status('/main'), 'H264')
  assert.equal(await status('/none'), 404)
  attempts = 0
  assert.equal(await status('/main', 'wrong'), 401)
  assert.equal(attempts, 1)
  assert.equal(await status('/garbage'), undefined)
})

/** The RTSP port of a camera, as far as a client asks what a stream contains: OPTIONS and DESCRIBE. */
import { createServer, type Server, type Socket } from 'node:net'
import { type Logins, REALM } from './logins.ts'
import type { CameraModel, Codec } from './model.ts'

const METHODS = 'OPTIONS, SETUP, TEARDOWN, DESCRIBE, PLAY, PAUSE'
/** Payload type, name and clock of each in a session description. */
const MEDIA: Readonly<Record<Codec, string>> = { H264: '96 H264/90000', H265: '96 H265/90000', JPEG: '26 JPEG/90000' }

export function createRtspServer(model: CameraModel, logins: Logins): Server {
  return createServer((socket) => {
    let text = ''
    socket.setEncoding('utf8')
    socket.on('error', () => socket.destroy())
    socket.on('data', (part: string) => {
      if (model.mode === 'silent') return
      text += part
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        answer(socket, text.slice(0, end), model, logins)
        text = text.slice(end + 4)
      }
    })
  })
}

/** Something that is no RTSP, or a method that it does not know, ends the connection. */
function answer(socket: Socket, request: string, model: CameraModel, logins: Logins): void {
  const [, method = '', url = ''] = /^(\w+) (\S+) RTSP\/1\.0/.exec(request) ?? []
  if (!METHODS.split(', ').includes(method)) {
    socket.destroy()
    return
  }
  const sequence = /^cseq: *(\d+)/im.exec(request)?.[1] ?? '0'
  const reply = (status: string, headers: string[], body = ''): void => {
    socket.write([`RTSP/1.0 ${status}`, ...headers, `Cseq: ${sequence}`, '', body].join('\r\n'))
  }
  if (method === 'OPTIONS') {
    reply('200 OK', [`Public: ${METHODS}`])
    return
  }
  const right = logins.inHeader(/^authorization: *(.+)$/im.exec(request)?.[1], method)
  if (right !== true && model.auth !== 'none') {
    reply('401 Unauthorized', [`WWW-Authenticate: ${logins.challenge()}`, `WWW-Authenticate: Basic realm="${REALM}"`])
    return
  }
  const path = url.replace(/^rtsp:\/\/[^/]*/, '')
  const profile = model.profiles.find((one) => one.path === path)
  if (profile === undefined || method !== 'DESCRIBE') {
    reply('404 Not Found', [])
    return
  }
  const sdp = description(profile.codec)
  reply('200 OK', ['Content-Type: application/sdp', `Content-Length: ${sdp.length}`], sdp)
}

function description(codec: Codec): string {
  const media = MEDIA[codec]
  const type = media.split(' ')[0] ?? '96'
  const lines = ['v=0', 'o=- 1 1 IN IP4 0.0.0.0', 's=camera', 'c=IN IP4 0.0.0.0', 't=0 0', `m=video 0 RTP/AVP ${type}`, `a=rtpmap:${media}`, 'a=recvonly', 'a=control:trackID=0'] // biome-ignore format: one line
  return `${lines.join('\r\n')}\r\n`
}

/** Live video over WebRTC: the relay's signalling on a viewer's socket, and H.264 in RTP packets. */
import type { MediaStreamTrack, RTCPeerConnection } from 'werift'
import { isObject, type Json } from './json.ts'
import type { LiveFrame } from './live-stream.ts'
import type { RelayStream, Reply, Signalling } from './relay.ts'
import { rtpPayloads } from './rtp.ts'
import { TICKS_PER_S } from './video/mp4.ts'
import { FRAMES_PER_S } from './cameras.ts'

/** The real relay serves all viewers on 8555; this one takes a port for each. */
const PORTS: [number, number] = [8555, 8655]
const H264 = 'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1'

export function openWebRtc(address: string, reply: Reply, log: (line: string) => void): Signalling {
  let connection: RTCPeerConnection | null = null
  let answered = false
  let early: string[] = []
  const ends: (() => void)[] = []
  const addCandidate = (candidate: string): void => {
    connection?.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 }).catch((error: unknown) => {
      log(`webrtc: ${String(error)}`)
    })
  }
  const answer = async (type: string, sdp: string, stream: RelayStream): Promise<void> => {
    const {
      MediaStreamTrack: Track,
      RTCPeerConnection: Connection,
      RTCRtpCodecParameters: Codec,
      ...rtp
    } = await import('werift')
    const codec = new Codec({
      mimeType: 'video/H264',
      clockRate: TICKS_PER_S,
      rtcpFeedback: [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }],
      parameters: H264,
    })
    connection = new Connection({
      iceServers: [],
      // This address alone, whatever else the machine has.
      iceAdditionalHostAddresses: [address],
      iceUseIpv4: false,
      iceUseIpv6: false,
      iceUseTcp: false,
      icePortRange: PORTS,
      codecs: { video: [codec] },
    })
    const track = new Track({ kind: 'video' })
    const sender = connection.addTransceiver(track, { direction: 'sendonly' }).sender
    connection.onIceCandidate.subscribe((candidate) => {
      if (candidate?.candidate) reply({ type: 'webrtc/candidate', value: candidate.candidate })
    })
    connection.connectionStateChange.subscribe((state) => {
      if (state !== 'connected') return
      const payload_type = sender.codec?.payloadType ?? 102
      ends.push(sendVideo(stream, track, (header) => new rtp.RtpPacket(new rtp.RtpHeader({ ...header, payloadType: payload_type, ssrc: 1 }), header.payload))) // biome-ignore format: one line
    })
    await connection.setRemoteDescription({ type: 'offer', sdp })
    await connection.setLocalDescription(await connection.createAnswer())
    answered = true
    const text = connection.localDescription?.sdp ?? ''
    if (type === 'webrtc') reply({ type, value: { type: 'answer', sdp: text } })
    else reply({ type: 'webrtc/answer', value: text })
    for (const candidate of early) addCandidate(candidate)
    early = []
  }
  return {
    receive: (type, value, stream) => {
      if (type === 'webrtc/candidate') {
        if (typeof value !== 'string' || value === '') return true
        if (answered) addCandidate(value)
        else early.push(value)
        return true
      }
      if (type !== 'webrtc/offer' && type !== 'webrtc') return false
      const sdp = sdpOf(value)
      const fault = faultOf(stream, sdp)
      if (fault !== null) reply({ type: 'error', value: `${type}: ${fault}` })
      else if (stream !== null) {
        answer(type, sdp, stream).catch((error: unknown) => {
          reply({ type: 'error', value: `${type}: ${error instanceof Error ? error.message : 'failed'}` })
        })
      }
      return true
    },
    close: () => {
      for (const end of ends) end()
      connection?.close().catch((error: unknown) => log(`webrtc: ${String(error)}`))
    },
  }
}

/** The older message has the text alone, the newer one an object. */
function sdpOf(value: Json): string {
  const text = isObject(value) ? value['sdp'] : value
  return typeof text === 'string' ? text : ''
}

function faultOf(stream: RelayStream | null, sdp: string): string | null {
  if (stream === null) return 'stream not found'
  if (!sdp.startsWith('v=0')) return `sdp: syntax error at pos 1: ${JSON.stringify(sdp.charAt(1))}`
  if (stream.camera.offline) return 'streams: dial tcp 192.0.2.10:554: connect: connection refused'
  if (stream.codec === 'H264') return null
  return `streams: codecs not matched: video:${stream.codec} => video:VP8, video:H264, audio:OPUS, audio:PCMU, audio:PCMA`
}

interface PacketParts {
  sequenceNumber: number
  timestamp: number
  marker: boolean
  payload: Buffer
}

/** From the next key frame on; the parameter sets go before each of them. */
function sendVideo(
  { live, camera }: RelayStream,
  track: MediaStreamTrack,
  packet: (parts: PacketParts) => Parameters<MediaStreamTrack['writeRtp']>[0],
): () => void {
  let sequence = 0
  const send = (nal: Buffer, timestamp: number, last: boolean): void => {
    for (const { payload, end } of rtpPayloads(nal)) {
      sequence = (sequence + 1) & 0xffff
      track.writeRtp(packet({ sequenceNumber: sequence, timestamp, marker: last && end, payload }))
    }
  }
  const onFrame = ({ nal, key, number }: LiveFrame): void => {
    if (camera.offline) return
    const timestamp = ((number * TICKS_PER_S) / FRAMES_PER_S) >>> 0
    if (key) for (const set of [live.encoder.sps, live.encoder.pps]) send(set, timestamp, false)
    send(nal, timestamp, true)
  }
  return live.watch({ backlog_s: 0, onFrame })
}

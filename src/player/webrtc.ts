// Live video by WebRTC: the offer goes over a WebSocket, the media come from the relay itself.
import { type Attempt, watchAttempt } from './attempt.ts'

export function startWebrtc(video: HTMLVideoElement, socket: WebSocket, shown: () => void): Attempt {
  const { end, attempt, onEnd } = watchAttempt(video, shown)
  const peer = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceServers: [] })
  const media = new MediaStream()
  const candidates: RTCIceCandidateInit[] = []
  for (const kind of ['video', 'audio']) {
    media.addTrack(peer.addTransceiver(kind, { direction: 'recvonly' }).receiver.track)
  }
  const send = (type: string, value: string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type, value }))
  }
  const open = async (): Promise<void> => {
    await peer.setLocalDescription(await peer.createOffer())
    send('webrtc/offer', peer.localDescription?.sdp ?? '')
  }
  const receive = async (type: string, value: string): Promise<void> => {
    if (type === 'webrtc/answer') await peer.setRemoteDescription({ type: 'answer', sdp: value })
    // An empty one says that there are no more.
    if (type === 'webrtc/candidate' && value !== '') candidates.push({ candidate: value, sdpMid: '0' })
    // Candidates may come before the answer, and are not taken before it.
    if (peer.remoteDescription === null) return
    for (const candidate of candidates.splice(0)) await peer.addIceCandidate(candidate)
  }
  const failed = (error: unknown): void => end(String(error))
  socket.addEventListener('open', () => void open().catch(failed))
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const { type, value } = JSON.parse(data) as { type: string; value: string }
    receive(type, value).catch(failed)
  })
  socket.addEventListener('close', ({ code, reason }) =>
    end(reason === '' ? `The connection ended (${code}).` : reason),
  )
  peer.addEventListener('icecandidate', ({ candidate }) => send('webrtc/candidate', candidate?.candidate ?? ''))
  peer.addEventListener('connectionstatechange', () => {
    if (peer.connectionState === 'failed') end('The media do not get through.')
  })
  video.srcObject = media
  video.play().catch(() => {})
  onEnd(() => {
    socket.close()
    peer.close()
    video.srcObject = null
  })
  return attempt
}

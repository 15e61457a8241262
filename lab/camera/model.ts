/** What a simulated camera is like: its login, its streams, and its peculiarities. */
export type Codec = 'H264' | 'H265' | 'JPEG'

export interface StreamProfile {
  token: string
  codec: Codec
  width: number
  height: number
  frames_per_s: number
  /** Of the RTSP URL, with its query. */
  path: string
}

/** How logins are checked: in the SOAP header, by HTTP Digest alone, or not at all. */
export type CameraAuth = 'wsse' | 'digest' | 'none'

/** `no-media`: a device without streams. `html`: a web page at every path. `silent`: connections, and nothing more. */
export type CameraMode = 'normal' | 'no-media' | 'html' | 'silent'

export interface CameraModel {
  username: string
  password: string
  auth: CameraAuth
  mode: CameraMode
  manufacturer: string
  name: string
  profiles: StreamProfile[]
  /** Offers the second version of the media service. */
  media2: boolean
  /** Its clock minus ours; a login made with another clock is rejected. */
  clock_skew_ms: number
  /** After so many wrong logins no login is right any more; 0: never. */
  lock_after: number
  /** An address that it names instead of its own, as cameras behind a router do. */
  reported_host: string | null
  onvif_port: number
  rtsp_port: number
}

export const DEFAULT_MODEL: CameraModel = {
  username: 'admin',
  password: 'lab-camera',
  auth: 'wsse',
  mode: 'normal',
  manufacturer: 'ACME & Co',
  name: '1080',
  profiles: [
    { token: 'main', codec: 'H264', width: 1920, height: 1080, frames_per_s: 25, path: '/cam/realmonitor?channel=1&subtype=0' }, // biome-ignore format: one line
    { token: 'sub', codec: 'H264', width: 640, height: 360, frames_per_s: 10, path: '/cam/realmonitor?channel=1&subtype=1' }, // biome-ignore format: one line
  ],
  media2: false,
  clock_skew_ms: 0,
  lock_after: 0,
  reported_host: null,
  onvif_port: 8000,
  rtsp_port: 8554,
}

/** The configuration of the lab's own NVR: three cameras, one of which sends H.265 and has a re-encoded live stream. */
import type { Release } from './config-file.ts'

export function defaultConfig(address: string, release: Release = '0.17'): string {
  const keep = release === '0.17' ? '  continuous:\n    days: 7\n' : '  retain:\n    days: 7\n    mode: all\n'
  return [
    `version: ${release}-0`,
    'mqtt:\n  enabled: false',
    'go2rtc:',
    '  streams:',
    ...stream('gate', '192.0.2.11'),
    ...stream('yard', '192.0.2.12'),
    ...stream('depot', '192.0.2.13'),
    '    depot_live:\n      - ffmpeg:depot#video=h264#audio=aac',
    `  webrtc:\n    candidates:\n      - ${address}:8555`,
    `record:\n  enabled: true\n${keep.trimEnd()}`,
    'snapshots:\n  enabled: true',
    'face_recognition:\n  enabled: true',
    'objects:\n  track: [person, car]',
    'review:\n  alerts:\n    labels: [person]',
    'cameras:',
    ...camera('gate', true),
    ...camera('yard', false),
    ...camera('depot', false),
    '',
  ].join('\n')
}

function stream(id: string, address: string): string[] {
  return [
    `    ${id}:\n      - rtsp://user:pass@${address}:554/Streaming/Channels/101`,
    `    ${id}_sub:\n      - rtsp://user:pass@${address}:554/Streaming/Channels/102`,
  ]
}

function camera(id: string, audio: boolean): string[] {
  const roles = audio ? '[detect, audio]' : '[detect]'
  return [
    `  ${id}:`,
    '    ffmpeg:\n      inputs:',
    `        - path: rtsp://127.0.0.1:8554/${id}\n          input_args: preset-rtsp-restream\n          roles: [record]`,
    `        - path: rtsp://127.0.0.1:8554/${id}_sub\n          input_args: preset-rtsp-restream\n          roles: ${roles}`,
    `    detect:\n      enabled: true\n      width: 640\n      height: 360\n      fps: 5`,
    ...(audio ? ['    audio:\n      enabled: true'] : []),
  ]
}

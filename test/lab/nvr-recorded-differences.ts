/** Where the simulated NVR answers otherwise than the recorded one: exchanges by their names, each with the reason. */
export interface Difference {
  name: RegExp
  reason: string
}

export const OTHER_ANSWERS: readonly Difference[] = [
  { name: /^password: (create user|delete)/, reason: 'users are given at the start' },
  { name: /^auth: login (broken json|wrong method GET)$/, reason: 'the place in the text, and nginx without a login' },
  { name: /internal port 5000$/, reason: 'only the port with a login is simulated' },
  { name: /^system: logs frigate/, reason: 'the recorded program had no log file' },
  { name: /^system: go2rtc stream/, reason: 'the relay did not run when this was recorded' },
  { name: /^system: trailing slash$|frame traversal$/, reason: 'other routes of the program fit these paths' },
  { name: /failing$|image missing$|folder missing$|embeddings dead$|no folder$/, reason: 'faults that /fail of the control API makes' }, // biome-ignore format: one line
  {
    name: /^event.*(running|audio event|files missing|recordings left)$/,
    reason: 'no such event exists at every moment',
  },
  { name: /^review: after text$/, reason: 'how the program describes two types' },
  { name: /^faces: create dots$/, reason: 'the client of this test resolves dots itself' },
  { name: /^faces: classify( with space)?$/, reason: 'the text has the name of the stored file' },
  { name: /^safe-mode: recordings summary$/, reason: 'without cameras there is no history' },
]

export const OTHER_TOPICS: readonly Difference[] = [
  { name: /^internal topic update_camera_activity$/, reason: 'nothing sends it to 0.16 from outside' },
]

export const OTHER_MEDIA: readonly Difference[] = [
  { name: /^mse-audio-codec-only$/, reason: 'the simulator has no sound' },
  { name: /^ws-type-(mjpeg|hls|mp4)$/, reason: 'ways to send live video that Groundplane does not use' },
  { name: /^ssrf-ws-(http|rtsp|ffmpeg)|^trick-(ffmpeg|rtsp|name|alias|two)/, reason: 'the simulator opens no source' },
]

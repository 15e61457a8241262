// What a camera is and which streams it has, by ONVIF Profile S: five calls within one deadline.
import pLimit from 'p-limit'
import { Agent } from 'undici'
import { discover } from './discovery.ts'
import type { Login } from './http-digest.ts'
import { OnvifError } from './onvif-error.ts'
import { mergedProfiles, type Profile, profilesOf, subProfile } from './profiles.ts'
import { createSession, isRejected, type Reply, type Session } from './session.ts'
import { childOf, childrenOf, escaped, MEDIA_1, MEDIA_2, textAt, type XmlNode } from './soap.ts'
import { streamUrlOf } from './stream-url.ts'

export interface ProbeRequest extends Login {
  /** Literal; the caller has checked that it may be spoken to. */
  ip: string
}

export interface ProbedProfile extends Omit<Profile, 'media'> {
  /** With the login inside; empty when the camera was too late with it. */
  uri: string
}

export interface ProbeResult {
  manufacturer: string
  model: string
  firmware_version: string
  serial_number: string
  hardware_id: string
  profiles: ProbedProfile[]
  main_stream_url: string
  /** Empty when there is only one stream. */
  sub_stream_url: string
}

const DEADLINE_MS = 12_000
/** Where cameras have their service: the usual port, Reolink, others, XM boards, Tapo. */
const PORTS = [80, 8000, 8080, 8899, 2020]
const DEVICE_PATH = '/onvif/device_service'
const MAX_ANSWER_BYTES = 1024 * 1024
const URIS_AT_ONCE = 4

/** Throws OnvifError. */
export async function probeCamera({ ip, ...login }: ProbeRequest, caller?: AbortSignal): Promise<ProbeResult> {
  const dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES })
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  const signal = caller === undefined ? deadline : AbortSignal.any([deadline, caller])
  try {
    const session = createSession({ ip, login, dispatcher, signal })
    const device = await findDevice(session, ip, signal)
    const media = await mediaUrls(session, device, ip)
    const information = await session.call(device, 'GetDeviceInformation', '<tds:GetDeviceInformation/>')
    const profiles = await readProfiles(session, media)
    if (profiles.length === 0) throw unsupported(ip, 'GetProfiles', 'no profile has video')
    const probed = await withUris(session, media, profiles, { ip, login })
    const streams = probed.filter(({ uri }) => uri !== '')
    return {
      manufacturer: textAt(information, 'Manufacturer'),
      model: textAt(information, 'Model'),
      firmware_version: textAt(information, 'FirmwareVersion'),
      serial_number: textAt(information, 'SerialNumber'),
      hardware_id: textAt(information, 'HardwareId'),
      profiles: probed.map(({ media: _media, ...profile }) => profile),
      main_stream_url: streams[0]?.uri ?? '',
      sub_stream_url: subProfile(streams)?.uri ?? '',
    }
  } finally {
    await dispatcher.destroy()
  }
}

const GET_TIME = '<tds:GetSystemDateAndTime/>'

/** The URL of the device service: of those that answer a question without a login, the first. Notes the camera's clock. */
async function findDevice(session: Session, ip: string, signal: AbortSignal): Promise<string> {
  const ask = async (url: string): Promise<{ url: string; reply: Reply }> => {
    const reply = await session.ask(url, GET_TIME)
    if (reply.soap === undefined && !isRejected(reply))
      throw unsupported(ip, 'GetSystemDateAndTime', `HTTP ${reply.status}`)
    return { url, reply }
  }
  const found = discover(ip, signal).then((urls) =>
    Promise.any(urls.map((url) => ask(onAddress(url, ip)))).catch(() => Promise.reject(new Error('not discovered'))),
  )
  const asked = [found, ...PORTS.map((port) => ask(`http://${hostOf(ip)}:${port}${DEVICE_PATH}`))]
  // What speaks SOAP comes before what only wants a login: that may be any web page.
  const speaks = asked.map(async (one) => {
    const answer = await one
    if (answer.reply.soap === undefined) throw new Error('not SOAP')
    return answer
  })
  const first = await Promise.any(speaks)
    .catch(() => Promise.any(asked))
    .catch((error: unknown) => error)
  if (first instanceof AggregateError || first instanceof Error) throw noService(ip, first)
  const { url, reply } = first as { url: string; reply: Reply }
  const time = timeOf(reply.soap?.content) ?? reply.date
  session.skew_ms = time === undefined ? 0 : time.getTime() - Date.now()
  return url
}

function noService(ip: string, error: Error): OnvifError {
  const causes: unknown[] = error instanceof AggregateError ? error.errors : []
  const other = causes.find((one) => one instanceof OnvifError)
  return (
    other ??
    new OnvifError({
      ip,
      operation: 'GetSystemDateAndTime',
      reason: 'unreachable',
      detail: 'no port answers',
      cause: error,
    })
  )
}

function timeOf(answer: XmlNode | undefined): Date | undefined {
  const utc = childOf(childOf(answer, 'SystemDateAndTime'), 'UTCDateTime')
  const [year, month, day] = ['Year', 'Month', 'Day'].map((name) => Number(textAt(utc, 'Date', name)))
  const [hour, minute, second] = ['Hour', 'Minute', 'Second'].map((name) => Number(textAt(utc, 'Time', name)))
  if (year === undefined || year === 0) return undefined
  const time = new Date(Date.UTC(year, (month ?? 1) - 1, day, hour, minute, second))
  return Number.isNaN(time.getTime()) ? undefined : time
}

interface MediaUrls {
  first: string | undefined
  second: string | undefined
}

/** Older cameras know GetCapabilities alone. */
async function mediaUrls(session: Session, device: string, ip: string): Promise<MediaUrls> {
  const services = await session
    .call(
      device,
      'GetServices',
      '<tds:GetServices><tds:IncludeCapability>false</tds:IncludeCapability></tds:GetServices>',
    )
    .catch(unlessUnsupported)
  const urls = new Map(
    childrenOf(services, 'Service').map((service) => [textAt(service, 'Namespace'), textAt(service, 'XAddr')]),
  )
  let first = urls.get(MEDIA_1)
  const second = urls.get(MEDIA_2)
  if (first === undefined && second === undefined) {
    const body = '<tds:GetCapabilities><tds:Category>All</tds:Category></tds:GetCapabilities>'
    const capabilities = await session.call(device, 'GetCapabilities', body)
    first = textAt(capabilities, 'Capabilities', 'Media', 'XAddr') || undefined
  }
  if (first === undefined && second === undefined) throw unsupported(ip, 'GetServices', 'no media service')
  const usable = (url: string | undefined) => (url !== undefined && URL.canParse(url) ? onAddress(url, ip) : undefined)
  return { first: usable(first), second: usable(second) }
}

async function readProfiles(session: Session, { first, second }: MediaUrls): Promise<Profile[]> {
  const old = first === undefined ? [] : profilesOf(await session.call(first, 'GetProfiles', '<trt:GetProfiles/>'), 1)
  if (second === undefined) return mergedProfiles(old, [])
  const body = '<tr2:GetProfiles><tr2:Type>VideoEncoder</tr2:Type></tr2:GetProfiles>'
  const newer = await session.call(second, 'GetProfiles', body).catch(unlessUnsupported)
  return mergedProfiles(old, newer === undefined ? [] : profilesOf(newer, 2))
}

async function withUris(
  session: Session,
  media: MediaUrls,
  profiles: readonly Profile[],
  { ip, login }: { ip: string; login: Login },
): Promise<(ProbedProfile & Pick<Profile, 'media'>)[]> {
  const uriOf = async (profile: Profile): Promise<string> => {
    const url = profile.media === 1 ? media.first : media.second
    const answer = await session.call(url ?? '', 'GetStreamUri', streamUriBody(profile))
    const text = textAt(answer, 'MediaUri', 'Uri') || textAt(answer, 'Uri')
    return streamUrlOf(text, ip, login) ?? Promise.reject(unsupported(ip, 'GetStreamUri', 'no RTSP URL'))
  }
  const limit = pLimit(URIS_AT_ONCE)
  const [main, ...others] = profiles
  if (main === undefined) return []
  // The first one alone: should it be the first call that needs a login, a wrong one is tried once.
  const answers = [
    ...(await Promise.allSettled([uriOf(main)])),
    ...(await Promise.allSettled(others.map((profile) => limit(uriOf, profile)))),
  ]
  const errors = answers.flatMap((answer): unknown[] => (answer.status === 'rejected' ? [answer.reason] : []))
  const rejected = errors.find((error) => error instanceof OnvifError && error.reason === 'credentials')
  if (rejected !== undefined) throw rejected
  if (errors.length === profiles.length) throw errors[0]
  return profiles.map((profile, index) => {
    const answer = answers[index]
    return { ...profile, uri: answer?.status === 'fulfilled' ? answer.value : '' }
  })
}

function streamUriBody({ token, media }: Profile): string {
  const profile = escaped(token)
  if (media === 2) {
    return `<tr2:GetStreamUri><tr2:Protocol>RTSP</tr2:Protocol><tr2:ProfileToken>${profile}</tr2:ProfileToken></tr2:GetStreamUri>`
  }
  return `<trt:GetStreamUri><trt:StreamSetup><tt:Stream>RTP-Unicast</tt:Stream><tt:Transport><tt:Protocol>RTSP</tt:Protocol></tt:Transport></trt:StreamSetup><trt:ProfileToken>${profile}</trt:ProfileToken></trt:GetStreamUri>`
}

/** Cameras name hosts that are not theirs; nothing is sent to any other than the one that was asked for. */
function onAddress(text: string, ip: string): string {
  const { protocol, port, pathname, search } = new URL(text)
  return `${protocol === 'https:' ? 'https' : 'http'}://${hostOf(ip)}${port === '' ? '' : `:${port}`}${pathname}${search}`
}

function hostOf(ip: string): string {
  return ip.includes(':') ? `[${ip}]` : ip
}

function unlessUnsupported(error: unknown): undefined {
  if (error instanceof OnvifError && error.reason === 'unsupported') return undefined
  throw error
}

function unsupported(ip: string, operation: string, detail: string): OnvifError {
  return new OnvifError({ ip, operation, reason: 'unsupported', detail })
}

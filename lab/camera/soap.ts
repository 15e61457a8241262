/** The five calls of a camera (ONVIF Profile S) that say what it is and where its streams are, as answers in SOAP. */
import type { CameraModel, StreamProfile } from './model.ts'

const NAMESPACES = [
  'xmlns:s="http://www.w3.org/2003/05/soap-envelope"',
  'xmlns:tds="http://www.onvif.org/ver10/device/wsdl"',
  'xmlns:trt="http://www.onvif.org/ver10/media/wsdl"',
  'xmlns:tr2="http://www.onvif.org/ver20/media/wsdl"',
  'xmlns:tt="http://www.onvif.org/ver10/schema"',
  'xmlns:ter="http://www.onvif.org/ver10/error"',
].join(' ')

export interface SoapRequest {
  /** Without a prefix: `GetProfiles`. */
  operation: string
  /** Of the second version of the media service, which alone can name H.265. */
  media2: boolean
  body: string
  /** As the client called the camera. */
  host: string
}

/** Null when the text is no SOAP request. */
export function readSoap(text: string, host: string): SoapRequest | null {
  const body = /<(?:[\w-]+:)?Body[^>]*>([\s\S]*)<\/(?:[\w-]+:)?Body>/.exec(text)?.[1]?.trim()
  const [, prefix = '', operation = ''] = /^<(?:([\w-]+):)?(\w+)/.exec(body ?? '') ?? []
  if (body === undefined || operation === '') return null
  const declared = new RegExp(prefix === '' ? 'xmlns="([^"]+)"' : `xmlns:${prefix}="([^"]+)"`).exec(text)?.[1]
  return { operation, media2: declared?.includes('/ver20/media') ?? false, body, host }
}

/** Null for an operation that the camera does not have. */
export function answerSoap(request: SoapRequest, model: CameraModel): string | null {
  const { operation, host, body, media2 } = request
  const media = model.mode === 'no-media' ? [] : model.profiles
  switch (operation) {
    case 'GetSystemDateAndTime':
      return dateAndTime(new Date(Date.now() + model.clock_skew_ms))
    case 'GetServices':
      return `<tds:GetServicesResponse>${services(model, host)}</tds:GetServicesResponse>`
    case 'GetCapabilities':
      return capabilities(model, host)
    case 'GetDeviceInformation':
      return `<tds:GetDeviceInformationResponse><tds:Manufacturer>${escaped(model.manufacturer)}</tds:Manufacturer><tds:Model>${escaped(model.name)}</tds:Model><tds:FirmwareVersion>5.10</tds:FirmwareVersion><tds:SerialNumber>12345678901234567890</tds:SerialNumber><tds:HardwareId>88</tds:HardwareId></tds:GetDeviceInformationResponse>`
    case 'GetProfiles':
      if (media.length === 0 || (media2 && !model.media2)) return null
      return media2
        ? `<tr2:GetProfilesResponse>${media.map(profile2).join('')}</tr2:GetProfilesResponse>`
        : `<trt:GetProfilesResponse>${media.map(profile).join('')}</trt:GetProfilesResponse>`
    case 'GetStreamUri': {
      const token = /ProfileToken>([^<]*)</.exec(body)?.[1]
      const found = media.find((one) => one.token === token)
      if (found === undefined) return null
      const uri = escaped(`rtsp://${model.reported_host ?? host}:${model.rtsp_port}${found.path}`)
      return media2
        ? `<tr2:GetStreamUriResponse><tr2:Uri>${uri}</tr2:Uri></tr2:GetStreamUriResponse>`
        : `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>${uri}</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`
    }
    default:
      return null
  }
}

export function envelope(body: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope ${NAMESPACES}><s:Body>${body}</s:Body></s:Envelope>`
}

export function fault(code: 'Sender' | 'Receiver', subcode: string, reason: string): string {
  return envelope(
    `<s:Fault><s:Code><s:Value>s:${code}</s:Value><s:Subcode><s:Value>${subcode}</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en">${reason}</s:Text></s:Reason></s:Fault>`,
  )
}

function dateAndTime(now: Date): string {
  const time = `<tt:Time><tt:Hour>${now.getUTCHours()}</tt:Hour><tt:Minute>${now.getUTCMinutes()}</tt:Minute><tt:Second>${now.getUTCSeconds()}</tt:Second></tt:Time>`
  const date = `<tt:Date><tt:Year>${now.getUTCFullYear()}</tt:Year><tt:Month>${now.getUTCMonth() + 1}</tt:Month><tt:Day>${now.getUTCDate()}</tt:Day></tt:Date>`
  return `<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType><tt:DaylightSavings>false</tt:DaylightSavings><tt:UTCDateTime>${time}${date}</tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>`
}

function addresses({ reported_host, onvif_port }: CameraModel, host: string): { device: string; media: string } {
  const base = `http://${reported_host ?? host}:${onvif_port}/onvif`
  return { device: `${base}/device_service`, media: `${base}/media_service` }
}

function services(model: CameraModel, host: string): string {
  const { device, media } = addresses(model, host)
  const list = [['http://www.onvif.org/ver10/device/wsdl', device]]
  if (model.mode !== 'no-media') list.push(['http://www.onvif.org/ver10/media/wsdl', media])
  if (model.media2) list.push(['http://www.onvif.org/ver20/media/wsdl', media])
  return list
    .map(
      ([namespace, address]) =>
        `<tds:Service><tds:Namespace>${namespace}</tds:Namespace><tds:XAddr>${address}</tds:XAddr></tds:Service>`,
    )
    .join('')
}

function capabilities(model: CameraModel, host: string): string {
  const { device, media } = addresses(model, host)
  const media_part = model.mode === 'no-media' ? '' : `<tt:Media><tt:XAddr>${media}</tt:XAddr></tt:Media>`
  return `<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Device><tt:XAddr>${device}</tt:XAddr></tt:Device>${media_part}</tds:Capabilities></tds:GetCapabilitiesResponse>`
}

/** The first version knows JPEG, MPEG4 and H264; a camera with H.265 says H264 here. */
function profile({ token, codec, width, height, frames_per_s }: StreamProfile): string {
  const encoding = codec === 'JPEG' ? 'JPEG' : 'H264'
  return `<trt:Profiles token="${token}" fixed="true"><tt:Name>${token}</tt:Name><tt:VideoSourceConfiguration token="vsc"><tt:SourceToken>source</tt:SourceToken></tt:VideoSourceConfiguration><tt:VideoEncoderConfiguration token="vec-${token}"><tt:Encoding>${encoding}</tt:Encoding><tt:Resolution><tt:Width>${width}</tt:Width><tt:Height>${height}</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>${frames_per_s}</tt:FrameRateLimit></tt:RateControl></tt:VideoEncoderConfiguration></trt:Profiles>`
}

function profile2({ token, codec, width, height, frames_per_s }: StreamProfile): string {
  return `<tr2:Profiles token="${token}" fixed="true"><tr2:Name>${token}</tr2:Name><tr2:Configurations><tr2:VideoEncoder token="vec-${token}"><tt:Encoding>${codec}</tt:Encoding><tt:Resolution><tt:Width>${width}</tt:Width><tt:Height>${height}</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>${frames_per_s}</tt:FrameRateLimit></tt:RateControl></tr2:VideoEncoder></tr2:Configurations></tr2:Profiles>`
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

export function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (all: string, code?: string, name?: string) =>
    code === undefined ? (ENTITIES[name ?? ''] ?? all) : String.fromCodePoint(Number(code)),
  )
}

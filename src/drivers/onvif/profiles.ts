// The video profiles of a camera, and which of them is the main stream.
import { childOf, childrenOf, textAt, type XmlNode } from './soap.ts'

export interface Profile {
  token: string
  name: string
  /** H264, H265, JPEG and so on; empty when the camera does not say. */
  codec: string
  width: number
  height: number
  framerate: number
  media: 1 | 2
}

/** Of an answer to GetProfiles of either version; some cameras answer the second with the first. */
export function profilesOf(answer: XmlNode, media: Profile['media']): Profile[] {
  return childrenOf(answer, 'Profiles').flatMap((profile) => {
    const encoder =
      childOf(profile, 'VideoEncoderConfiguration') ?? childOf(childOf(profile, 'Configurations'), 'VideoEncoder')
    const token = profile['@token']
    if (encoder === undefined || typeof token !== 'string' || token === '') return []
    return [
      {
        token,
        name: textAt(profile, 'Name'),
        codec: textAt(encoder, 'Encoding').toUpperCase(),
        width: numberAt(encoder, 'Resolution', 'Width'),
        height: numberAt(encoder, 'Resolution', 'Height'),
        framerate: numberAt(encoder, 'RateControl', 'FrameRateLimit'),
        media,
      },
    ]
  })
}

/** The first version cannot say H.265, so what the second says of a profile counts. Largest first. */
export function mergedProfiles(first: readonly Profile[], second: readonly Profile[]): Profile[] {
  const newer = new Map(second.map((profile) => [profile.token, profile]))
  const old = new Set(first.map(({ token }) => token))
  return [
    ...first.map((profile) => ({ ...(newer.get(profile.token) ?? profile), media: profile.media })),
    ...second.filter(({ token }) => !old.has(token)),
  ].sort(bySize)
}

/** Cameras list their profiles in any order: equal ones are told apart by their tokens. */
function bySize(a: Profile, b: Profile): number {
  return b.width * b.height - a.width * a.height || (a.token < b.token ? -1 : 1)
}

/** The smallest other than the main one, of those that a browser can show where there are such. */
export function subProfile<P extends Profile>(sorted: readonly P[]): P | undefined {
  const others = sorted.slice(1)
  return others.findLast(({ codec }) => codec === 'H264') ?? others.at(-1)
}

function numberAt(node: XmlNode, ...path: string[]): number {
  const number = Math.round(Number(textAt(node, ...path)))
  return Number.isFinite(number) && number > 0 ? number : 0
}

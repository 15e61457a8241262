/** What the face library holds at the start. */

/** The folder of faces that nobody has named yet. */
export const INBOX = 'train'

/** Images by folder and file name; null: drawn when it is wanted. */
export type FaceLibrary = Map<string, Map<string, Buffer | null>>

export function initialFaces(now_s: number): FaceLibrary {
  const seen_s = Math.floor(now_s) - 3600
  const inbox = [12, 40].map((seconds) => `${seen_s}.25-pfaces-${seen_s + seconds}.5-unknown-0.0.webp`)
  return new Map([
    [INBOX, new Map(inbox.map((name) => [name, null]))],
    ['alice', new Map([['alice-1.webp', null]])],
  ])
}

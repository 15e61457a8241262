/** The face library: a folder of images for each person, and the inbox `train` of faces that nobody has named. */
import { type Answer, type Call, failure, json, jsonBody, missingField, Rejection, type Route, route, uncaught } from './http-call.ts' // biome-ignore format: one line
import { INBOX } from './face-library.ts'
import { isObject } from './json.ts'
import type { NvrState } from './state.ts'
import { faceImage } from './stills.ts'

/** An upload of this name plays an image on which the program finds nobody. */
const NO_FACE = 'no-face.jpg'

export function faceRoutes(): Route[] {
  return [
    route('GET', '/faces', 'admin-since-0.17', ({ nvr }) =>
      json(Object.fromEntries([...nvr.faces].map(([name, files]) => [name, [...files.keys()]]))),
    ),
    route('POST', '/faces/:name/create', 'admin', create),
    route('POST', '/faces/:name/register', 'admin', register),
    route('POST', '/faces/train/:name/classify', 'admin-since-0.17', classify),
  ]
}

export async function faceFile(nvr: NvrState, name: string, file: string) {
  const stored = nvr.faces.get(name)?.get(file)
  if (stored === undefined) return null
  const seconds = /(\d{9,})/.exec(file)?.[1]
  return { type: 'image/webp', bytes: stored ?? (await faceImage(file)), changed_s: Number(seconds ?? 1_700_000_000) }
}

/** Success is said to be none: the real program answers so. */
function create({ nvr, params }: Call): Answer {
  needRecognition(nvr)
  // The folder's name is cleaned here, and here only.
  const name = (params['name'] ?? '').replaceAll(' ', '_').replaceAll(/[^\p{L}\p{N}_-]/gu, '')
  if (name !== '' && !nvr.faces.has(name)) nvr.faces.set(name, new Map())
  return json({ success: false, message: 'Successfully created face folder.' })
}

async function register(call: Call): Promise<Answer> {
  const { nvr, params, headers } = call
  needRecognition(nvr)
  const name = params['name'] ?? ''
  const file = await uploaded(await call.body(), headers['content-type'] ?? '')
  if (file === null) throw missingField(['body', 'file'], null)
  if (file.name === NO_FACE) throw failure(400, 'No face was detected.')
  folder(nvr, name).set(`${name}-${Date.now() / 1000}.webp`, Buffer.from(await file.arrayBuffer()))
  return json({ success: true, message: 'Successfully registered face.' })
}

async function classify(call: Call): Promise<Answer> {
  const { nvr, params } = call
  needRecognition(nvr)
  const name = params['name'] ?? ''
  const bytes = await call.body()
  const body = bytes.length === 0 ? {} : await jsonBody(call)
  if (!isObject(body)) {
    const detail = [{ type: 'dict_type', loc: ['body'], msg: 'Input should be a valid dictionary', input: body }]
    throw new Rejection(422, { detail })
  }
  const file = body['training_file']
  const event = body['event_id']
  if (event !== undefined && file === undefined) {
    throw failure(404, `Invalid event_id or no event exists: ${typeof event === 'string' ? event : ''}`)
  }
  if (file === undefined) throw failure(400, 'A training file or event_id must be passed.')
  if (typeof file !== 'string') throw uncaught()
  const cleaned = file.replaceAll('/', '')
  const image = nvr.faces.get(INBOX)?.get(cleaned)
  if (image === undefined) throw failure(404, `Invalid filename or no file exists: ${cleaned}`)
  nvr.faces.get(INBOX)?.delete(cleaned)
  const saved = `${name}-${Date.now() / 1000}.webp`
  folder(nvr, name).set(saved, image)
  return json({ success: true, message: `Successfully saved ${cleaned} as ${saved}.` })
}

function needRecognition(nvr: NvrState): void {
  if (!nvr.faceRecognition()) throw failure(400, 'Face recognition is not enabled.')
}

function folder({ faces }: NvrState, name: string): Map<string, Buffer | null> {
  const files = faces.get(name) ?? new Map<string, Buffer | null>()
  faces.set(name, files)
  return files
}

async function uploaded(body: Buffer, type: string): Promise<File | null> {
  if (!type.startsWith('multipart/form-data')) return null
  try {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const file = form.get('file')
    return file instanceof File ? file : null
  } catch {
    return null
  }
}

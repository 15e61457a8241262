// The face library. The name of a person becomes a folder on the NVR, which does not clean it.
import type { cameraFaces } from '#src/contract/cam/faces.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { Written } from '#src/drivers/frigate/writes.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordOperation } from '../operation.ts'
import type { CamDeps } from './deps.ts'

type Routes = typeof cameraFaces.routes

/** What nobody was named for yet. */
const INBOX = 'train'

export function faceHandlers(deps: CamDeps): Handlers<Routes, RequestContext> {
  const change = async (
    given: string,
    description: (name: string) => string,
    ctx: RequestContext,
    work: (nvr: Frigate, name: string) => Promise<Written>,
  ) => {
    const name = personName(given)
    const subject = { resource_id: name, description: description(name) }
    return recordOperation(deps, ctx, 'FACE', subject, async () => {
      const written = await work(await deps.currentNvr(), name)
      if (!written.done) throw rejected(written, name)
      return { name }
    })
  }
  return {
    faceList: async (_input, { signal }) => (await deps.currentNvr()).faces(signal),
    async faceUpload({ params, body }, ctx) {
      const image = body.file
      const media_type = imageType(image.bytes)
      if (media_type === undefined) throw invalidField('body.file', 'is no JPEG, PNG or WebP image')
      return change(
        params.name,
        (name) => `Adding an image of ${name}.`,
        ctx,
        (nvr, name) => nvr.registerFace(name, image.bytes, media_type, ctx.signal),
      )
    },
    faceClassify: ({ params, body: { training_file } }, ctx) =>
      change(
        params.name,
        (name) => `Assigning ${training_file} to ${name}.`,
        ctx,
        (nvr, name) => nvr.classifyFace(name, training_file, ctx.signal),
      ),
    faceCreate: ({ params }, ctx) =>
      change(
        params.name,
        (name) => `Adding ${name} to the face library.`,
        ctx,
        (nvr, name) => nvr.createPerson(name, ctx.signal),
      ),
  }
}

/** Spaces become underscores in some calls of the NVR and stay in others; here they do in all. */
function personName(given: string): string {
  const name = given.trim().replaceAll(/\s+/g, '_')
  if (name.toLowerCase() === INBOX)
    throw invalidField('path.name', `${INBOX} holds the faces of nobody yet; name a person`)
  return name
}

/** By its first bytes: the NVR takes anything for an image. */
function imageType(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg'
  if (bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))) return 'image/png'
  const is_webp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
  return is_webp ? 'image/webp' : undefined
}

function rejected({ status, words }: Exclude<Written, { done: true }>, name: string): ApiError {
  const cause = new Error(words)
  if (status === 404)
    return new ApiError(
      'CAM_FACE_REJECTED',
      `There is no such training file for ${name}; GET /cam/faces lists those of train.`,
      {
        cause,
      },
    )
  if (/not enabled/.test(words)) {
    const way_out = 'turn it on in the configuration of the NVR (face_recognition.enabled)'
    return new ApiError('CAM_FACE_REJECTED', `The NVR does not recognise faces: ${way_out}.`, { cause })
  }
  if (/no face/i.test(words))
    return new ApiError('CAM_FACE_REJECTED', `The NVR finds no face in the image of ${name}.`, { cause })
  return new ApiError('CAM_FACE_REJECTED', `The NVR does not accept this for ${name}.`, { cause })
}

// The face library: whom the NVR recognises.
import { Type } from 'typebox'
import { Closed } from '../common.ts'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'

export const MAX_FACE_BYTES = 10 * 1024 * 1024

/** Becomes the name of a folder on the NVR. */
const PersonParams = Closed({
  name: Type.String({
    minLength: 1, maxLength: 64, pattern: '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_ .\'-]*$',
    description: 'Name of the person: letters, digits, space, and _ . \' - inside. Spaces become _. Not `train`, which holds what nobody was named for yet.',
  }),
}) // biome-ignore format: one field
const FaceResult = Type.Object(
  { name: Type.String({ description: 'Name as the library has it.' }) },
  { title: 'FaceResult' },
)

const change = { method: 'POST', access: 'operator', params: PersonParams, event: { resource_type: 'FACE' } } as const
const example = { params: { name: 'Ada' }, answer: { name: 'Ada' } }

export const cameraFaces = defineArea({
  ...CAM_AREA,
  name: 'camera-faces',
  description: 'Faces that the NVR recognises.',
  routes: {
    faceList: {
      method: 'GET',
      access: 'viewer',
      path: '/cam/faces',
      summary: 'List faces by person',
      description:
        'Person to file names, which GET /cam/clips/faces/{person}/{file} sends. `train` holds those that are assigned to nobody.',
      ok: { 200: Type.Record(Type.String(), Type.Array(Type.String())) },
      errors: [502],
      example: { answer: { Ada: ['Ada_1763610000.123.webp'], train: [] } },
    },
    faceUpload: {
      ...change,
      path: '/cam/faces/{name}',
      summary: 'Upload image of face',
      description: 'The NVR keeps the part that shows the face; without one the answer is 400.',
      kind: 'multipart',
      body: Closed({
        file: Type.Unsafe<Uint8Array>({ type: 'string', format: 'binary', 'x-max-bytes': MAX_FACE_BYTES, description: 'Image, at most 10 MiB.' }),
      }), // biome-ignore format: one field
      ok: { 200: FaceResult },
      errors: [400, 413, 502],
      example: { ...example, body: { file: '(bytes of a JPEG)' } },
    },
    faceClassify: {
      ...change,
      path: '/cam/faces/{name}/classify',
      summary: 'Assign training file to person',
      body: Closed({
        training_file: Type.String({
          minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$', description: 'File of `train` in GET /cam/faces.',
        }),
      }), // biome-ignore format: one field
      ok: { 200: FaceResult },
      errors: [400, 502],
      example: { ...example, body: { training_file: '1763610000.123456-a1b2c3-1763610002.5-unknown-0.0.webp' } },
    },
    faceCreate: {
      ...change,
      path: '/cam/faces/{name}/create',
      summary: 'Create person in face library',
      ok: { 200: FaceResult },
      errors: [400, 502],
      example,
    },
  },
})

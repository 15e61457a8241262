// Areas that the tests of the command line run on: real ones where the words matter, and one of odd shapes.
import { Type } from 'typebox'
import { appEvents } from '#src/contract/app-events.ts'
import { ActionAccepted, Closed, Id, KeysetFields, Nullable, OneOf } from '#src/contract/common.ts'
import { vms } from '#src/contract/compute/vms.ts'
import { infrastructure } from '#src/contract/infrastructure.ts'
import { auth } from '#src/contract/auth.ts'
import { jobs } from '#src/contract/jobs.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { type Area, defineArea } from '#src/contract/route.ts'
import { service } from '#src/contract/service.ts'

const example = {}

/** Shapes that no single real area has together. */
const gadgets = defineArea({
  name: 'gadgets',
  description: 'Made for tests.',
  routes: {
    gadgetUpdate: {
      method: 'PUT',
      path: '/gadgets/{mac_address}',
      summary: 'Update gadget',
      access: 'operator',
      event: { resource_type: 'GADGET' },
      params: Closed({ mac_address: Type.String() }),
      body: Closed({
        mac: Type.String(),
        size_mb: Type.Integer(),
        ratio: Type.Optional(Type.Number()),
        enabled: Type.Optional(Type.Boolean()),
        color: Type.Optional(OneOf(['Red', 'Green'])),
        comment: Type.Optional(Nullable(Type.String())),
        tags: Type.Optional(Type.Array(Type.String())),
        parts: Type.Optional(Type.Array(Closed({ id: Type.String(), count: Type.Integer() }))),
        labels: Type.Optional(Type.Record(Type.String(), Type.String())),
        token: Type.Optional(Type.Integer()),
        password: Type.Optional(Type.String()),
        user_data: Type.Optional(Type.String({ contentEncoding: 'base64' })),
      }),
      ok: { 200: Type.Object({ id: Id }) },
      errors: [400, 404, 409, 500],
      example,
    },
    gadgetList: {
      method: 'POST',
      path: '/gadgets/list',
      summary: 'List gadgets',
      access: 'viewer',
      effect: 'read',
      body: Closed({ ...KeysetFields }),
      body_optional: true,
      ok: { 200: Type.Object({ gadgets: Type.Array(Type.Object({ id: Type.Integer() })) }) },
      errors: [400, 500],
      example,
    },
    gadgetDelete: {
      method: 'DELETE',
      path: '/gadgets/{id}',
      summary: 'Delete gadget',
      access: 'operator',
      event: { resource_type: 'GADGET' },
      params: Closed({ id: Id }),
      ok: { 200: ActionAccepted },
      errors: [400, 404, 500],
      example,
    },
    gadgetImage: {
      method: 'GET',
      path: '/gadgets/{id}/files/{path*}',
      summary: 'Get file of gadget',
      access: 'viewer',
      kind: 'bytes',
      params: Closed({ id: Id, path: Type.String() }),
      ok: { 200: Type.Unknown() },
      errors: [400, 404, 500],
      example,
    },
    gadgetWatch: {
      method: 'GET',
      path: '/gadgets/{id}/watch',
      summary: 'Watch gadget',
      access: 'viewer',
      kind: 'ws',
      params: Closed({ id: Id }),
      ok: { 101: Type.Unknown() },
      errors: [400, 500],
      example,
    },
    gadgetFileUpload: {
      method: 'POST',
      path: '/gadgets/{id}/files',
      summary: 'Upload file of gadget',
      access: 'operator',
      kind: 'multipart',
      params: Closed({ id: Id }),
      body: Type.Object({ file: Type.String({ format: 'binary' }), label: Type.Optional(Type.String()) }),
      ok: { 200: Type.Object({ message: Type.String() }) },
      errors: [400, 413, 500],
      example,
    },
  },
})

export const sampleAreas: readonly Area[] = [vms, infrastructure, appEvents, jobs, mtu, auth, service, gadgets]

// The envelope of every answer of address management, and the fields that DHCP, DNS and IPAM share (Part 2, 4.1 and 4.2).
import { type TProperties, type TSchema, Type } from 'typebox'
import { Nullable } from '../common.ts'

const success = Type.Boolean({ description: 'True for every answer below 400.' })
const message = Type.String({ description: 'One sentence for people.' })

/** `{ success, message, data }`. */
export function Enveloped<T extends TSchema>(data: T, title: string) {
  return Type.Object({ success, message, data }, { title })
}

/** `{ success, message }` and what the document shows beside them. */
export function FlatEnvelope<P extends TProperties>(fields: P, title: string) {
  return Type.Object({ ...fields, success, message }, { title })
}

export const PlainEnvelope = Type.Object({ success, message }, { title: 'AddressEnvelope' })

export const Text = (description?: string) => Nullable(Type.String(description === undefined ? {} : { description }))
export const Timestamp = (description: string) => Nullable(Type.String({ format: 'date-time', description }))

/** Pages of the documented lists, which show no paging: an extension with our usual default and limit. */
export const PageQuery = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1,
      description: 'Page number, from 1.',
      'x-extension': true,
    }),
  ),
  page_size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Rows a page.', 'x-extension': true }),
  ),
}
export const PageData = {
  page: Type.Integer({ minimum: 1, description: 'Page of this answer.', 'x-extension': true }),
  page_size: Type.Integer({ minimum: 1, description: 'Rows a page.', 'x-extension': true }),
}

/** One or more labels of letters, digits, hyphens; an underscore may begin one (RFC 1123, RFC 8552). */
const LABEL = '[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?'
export const DnsName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 254, pattern: `^(${LABEL}\\.)*${LABEL}\\.?$`, description })

/** A host name may not hold underscores (RFC 1123). */
const HOST_LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
export const HostName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 253, pattern: `^(${HOST_LABEL}\\.)*${HOST_LABEL}$`, description })

export const Mac = (description: string) =>
  Type.String({ pattern: '^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$', description })

export const Ipv4 = (description: string) => Type.String({ format: 'ipv4', description })

/** Control characters could end a line or a field of what stores it; half of a surrogate pair is no character at all. */
export const Comment = (description: string) =>
  Type.String({ maxLength: 255, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$', description })

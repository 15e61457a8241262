// Fields that users, tokens and sessions share: role, tenant, user name, password.
import { type Static, Type } from 'typebox'
import { Nullable, OneOf } from '../common.ts'

/** Text of one line: the database refuses NUL, and people are misled by the other control characters. */
export function Line(options: { minLength?: number; maxLength: number; description?: string; 'x-secret'?: true }) {
  return Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...options })
}

export const ROLES = ['viewer', 'operator', 'admin'] as const

export const CallerRole = OneOf([...ROLES], {
  description: 'viewer reads, operator changes, admin does everything; each includes the ones before it.',
})
export type CallerRole = Static<typeof CallerRole>

export const TenantId = Line({
  minLength: 1,
  maxLength: 128,
  description: 'Id of the tenant (a domain of the compute platform) that the caller is scoped to.',
})
export const NullableTenantId = Nullable(TenantId)

export const Username = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._@-]*$',
  description: 'Letters, digits and . _ @ -; unique without regard to case.',
})

export const NewPassword = Type.String({
  minLength: 12,
  maxLength: 256,
  description: '12 to 256 characters; stored only as a slow hash.',
  'x-secret': true,
})

/** A password as somebody typed it: the rules of new ones do not apply, so that a wrong one is only wrong. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 256, 'x-secret': true })

// Passwords that this service makes for admins of tenants.
import { randomBytes } from 'node:crypto'

/** Long enough for any password rule, with every kind of character that such rules ask for. */
export function generatedPassword(): string {
  return `Gp1!${randomBytes(24).toString('base64url')}`
}

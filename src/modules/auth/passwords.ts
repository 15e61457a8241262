// Passwords as scrypt hashes in PHC form, few at a time: each takes 64 MiB and a fifth of a second of a thread that file
// and name look-ups need too.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import pLimit from 'p-limit'
import { ApiError } from '#src/kernel/errors.ts'

export interface Passwords {
  /** `$scrypt$ln=16,r=8,p=1$<salt>$<hash>`: carries its own cost, so that the cost can change. */
  hash(password: string): Promise<string>
  /** Undefined stands for a user that does not exist, and takes as long as a wrong password. */
  matches(password: string, stored: string | undefined): Promise<boolean>
}

const AT_ONCE = 2
const COST = { ln: 16, r: 8, p: 1 }
const HASH_BYTES = 32
const SALT_BYTES = 16

/** Beyond `max_waiting` sign-ins are refused rather than queued without end. Tests make the cost small. */
export function createPasswords({ max_waiting = 40, cost = COST } = {}): Passwords {
  const limit = pLimit(AT_ONCE)
  const derived = (password: string, salt: Buffer, of: typeof COST): Promise<Buffer> => {
    if (limit.pendingCount >= max_waiting) {
      throw new ApiError('RATE_LIMITED', 'Too many sign-ins at once; try again in 5 s.', { retry_after_s: 5 })
    }
    return limit(() => derive(password, salt, of))
  }
  const nobody = phc(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES))
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      return phc(cost, salt, await derived(password, salt, cost))
    },
    async matches(password, stored) {
      const known = parsePhc(stored ?? nobody)
      return timingSafeEqual(await derived(password, known.salt, known.cost), known.hash) && stored !== undefined
    },
  }
}

function derive(password: string, salt: Buffer, { ln, r, p }: typeof COST): Promise<Buffer> {
  const N = 2 ** ln
  // The same password typed on two systems may arrive in two Unicode forms.
  const text = password.normalize('NFKC')
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

function phc({ ln, r, p }: typeof COST, salt: Buffer, hash: Buffer): string {
  const text = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
  return `$scrypt$ln=${ln},r=${r},p=${p}$${text(salt)}$${text(hash)}`
}

function parsePhc(stored: string): { cost: typeof COST; salt: Buffer; hash: Buffer } {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/.exec(stored)
  const [, ln, r, p, salt, hash] = match ?? []
  if (salt === undefined || hash === undefined) throw new Error('a stored password hash cannot be read')
  const bytes = Buffer.from(hash, 'base64')
  if (bytes.length !== HASH_BYTES) throw new Error('a stored password hash has the wrong length')
  return { cost: { ln: Number(ln), r: Number(r), p: Number(p) }, salt: Buffer.from(salt, 'base64'), hash: bytes }
}

// SHA-512 crypt (`$6$`), as /etc/shadow of the installed system takes it: of a password nothing else leaves the service.
// The algorithm is Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512", version 0.6.
import { createHash, randomBytes } from 'node:crypto'

const ROUNDS = 10_000
const DEFAULT_ROUNDS = 5000
const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export function hashPassword(password: string, salt = newSalt(), rounds = ROUNDS): string {
  const digest = rounded(Buffer.from(password, 'utf8'), Buffer.from(salt, 'latin1'), rounds)
  return `$6$${rounds === DEFAULT_ROUNDS ? '' : `rounds=${rounds}$`}${salt}$${encoded(digest)}`
}

function newSalt(): string {
  return [...randomBytes(16)].map((byte) => ALPHABET[byte % 64]).join('')
}

const sha512 = (...parts: readonly Uint8Array[]): Buffer => createHash('sha512').update(Buffer.concat(parts)).digest()

/** As many bytes of the repeated digest. */
function stretched(digest: Buffer, length: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.ceil(length / 64) }, () => digest)).subarray(0, length)
}

function rounded(password: Buffer, salt: Buffer, rounds: number): Buffer {
  const alternate = sha512(password, salt, password)
  const bits: Buffer[] = []
  for (let left = password.length; left > 0; left >>= 1) bits.push((left & 1) === 1 ? alternate : password)
  let digest = sha512(password, salt, stretched(alternate, password.length), ...bits)
  const p = stretched(sha512(...Array.from({ length: password.length }, () => password)), password.length)
  const s = stretched(sha512(...Array.from({ length: 16 + (digest[0] ?? 0) }, () => salt)), salt.length)
  for (let round = 0; round < rounds; round += 1) {
    const odd = round % 2 === 1
    digest = sha512(odd ? p : digest, round % 3 === 0 ? EMPTY : s, round % 7 === 0 ? EMPTY : p, odd ? digest : p)
  }
  return digest
}

const EMPTY = Buffer.alloc(0)

/** Three bytes, whose order the algorithm turns each time, are four letters, the lowest bits first. */
function encoded(digest: Buffer): string {
  let text = ''
  for (let group = 0; group < 21; group += 1) {
    const at = [group, group + 21, group + 42]
    const [a = 0, b = 0, c = 0] = [0, 1, 2].map((index) => digest[at[(index + group) % 3] ?? 0] ?? 0)
    text += letters((a << 16) | (b << 8) | c, 4)
  }
  return text + letters(digest[63] ?? 0, 2)
}

function letters(bits: number, count: number): string {
  return Array.from({ length: count }, (_one, index) => ALPHABET[(bits >> (6 * index)) & 63]).join('')
}

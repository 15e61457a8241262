// Secrets at rest: AES-256-GCM under a key file made at first start (0600). Several keys may stand in the file; the first
// seals, all open, so a key is rotated by putting a new one in front and re-sealing what the old one sealed.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

export interface SecretBox {
  /** Text that may be stored: `v1.<key id>.<nonce>.<tag>.<ciphertext>`. `context` must be given again to open it. */
  seal(plain: string, context: string): string
  open(sealed: string, context: string): string
  /** Keyed hash of a text: equal texts can be recognised, but not guessed. It stays the same when the key is rotated. */
  fingerprint(text: string): Buffer
  /** True when an older key sealed this text. */
  outdated(sealed: string): boolean
}

interface Key {
  id: string
  bytes: Buffer
}

/** Opens the key file, making it with one fresh key when there is none. */
export function openSecretBox(key_file: string): SecretBox {
  if (!existsSync(key_file)) writeKeys(key_file, [randomBytes(32)])
  return secretBox(readKeys(key_file))
}

/** Puts a fresh key in front; older texts still open, and `outdated` tells which they are. */
export function rotateKey(key_file: string): void {
  const keys = existsSync(key_file) ? readKeys(key_file) : []
  writeKeys(key_file, [randomBytes(32), ...keys.map((key) => key.bytes)])
}

function secretBox(keys: readonly Key[]): SecretBox {
  const current = keys[0]
  const eldest = keys.at(-1)
  if (current === undefined || eldest === undefined) throw new Error('the key file holds no key')
  return {
    seal(plain, context) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', current.bytes, nonce)
      cipher.setAAD(Buffer.from(context))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      const parts = [nonce, cipher.getAuthTag(), text].map((part) => part.toString('base64url'))
      return ['v1', current.id, ...parts].join('.')
    },
    open(sealed, context) {
      const [version, id, nonce, tag, text] = sealed.split('.')
      const key = keys.find((candidate) => candidate.id === id)
      if (version !== 'v1' || key === undefined || nonce === undefined || tag === undefined || text === undefined) {
        throw new Error('sealed text cannot be opened: its key is not in the key file')
      }
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonce, 'base64url'))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(Buffer.from(tag, 'base64url'))
      return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString('utf8')
    },
    fingerprint: (text) => createHmac('sha256', eldest.bytes).update(text).digest(),
    outdated: (sealed) => sealed.split('.')[1] !== current.id,
  }
}

function readKeys(key_file: string): Key[] {
  const lines = readFileSync(key_file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => {
    const bytes = Buffer.from(line, 'base64')
    if (bytes.length !== 32) throw new Error(`${key_file}: every line must be a key of 32 bytes in base64`)
    return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes }
  })
}

function writeKeys(key_file: string, keys: readonly Buffer[]): void {
  mkdirSync(dirname(key_file), { recursive: true, mode: 0o700 })
  writePrivateFile(key_file, `${keys.map((key) => key.toString('base64')).join('\n')}\n`)
}

/** Writes a 0600 file so that a crash leaves either the old content or the new one. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  const file = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

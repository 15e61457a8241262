// Encryption at rest: AES-256-GCM under a key file made at first start (0600). Several keys may stand in the file; the first
// encrypts, all decrypt, so a key is rotated by putting a new one in front and encrypting again what the old one encrypted.
// Processes that share the file notice the new key by themselves.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

export interface Keyring {
  /** Text that may be stored: `v1.<key id>.<nonce>.<tag>.<ciphertext>`. The same associated data decrypts it. */
  encrypt(plain: string, associated_data: string): string
  decrypt(encrypted: string, associated_data: string): string
  /** Keyed hash of a text: equal texts can be recognised, but not guessed. It stays the same when the key is rotated. */
  fingerprint(text: string): Buffer
  /** What every text encrypted from now on begins with: whatever begins otherwise was encrypted by an older key. */
  prefix(): string
}

interface Key {
  id: string
  bytes: Buffer
}

/** How long a process may go on encrypting with the key that a rotation has just replaced. */
export const KEY_FILE_POLL_MS = 1000

/** Opens the key file, making it with one fresh key when there is none. */
export function openKeyring(key_file: string): Keyring {
  if (!existsSync(key_file)) makeKeyFile(key_file)
  return keyring(watchedKeys(key_file))
}

/** Puts a fresh key in front; older texts can still be decrypted. Two rotations at once would lose a key: the caller holds a lock. */
export function rotateKey(key_file: string): void {
  const keys = readKeys(key_file).map((key) => key.bytes)
  writePrivateFile(key_file, textOf([randomBytes(32), ...keys]))
}

interface WatchedKeys {
  current(): Key
  eldest(): Key
  find(id: string): Key | undefined
}

/** The keys of the file, read again when it may have changed. */
function watchedKeys(key_file: string): WatchedKeys {
  let keys = readKeys(key_file)
  let version = versionOf(key_file)
  let read_at = performance.now()
  const poll = (): void => {
    read_at = performance.now()
    const found = versionOf(key_file)
    // A file that cannot be read for a moment is no reason to forget the keys that are known.
    if (found === undefined || found === version) return
    keys = readKeys(key_file)
    version = found
  }
  const first = (key: Key | undefined): Key => {
    if (key === undefined) throw new Error(`${key_file} holds no key`)
    return key
  }
  return {
    current() {
      if (performance.now() - read_at >= KEY_FILE_POLL_MS) poll()
      return first(keys[0])
    },
    eldest: () => first(keys.at(-1)),
    find(id) {
      const known = keys.find((key) => key.id === id)
      if (known !== undefined) return known
      poll()
      return keys.find((key) => key.id === id)
    },
  }
}

/** Every write is a rename of a new file, so the inode alone would do, were inodes not used again. */
function versionOf(key_file: string): string | undefined {
  const stat = statSync(key_file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.ino} ${stat.mtimeNs}`
}

function keyring(keys: WatchedKeys): Keyring {
  return {
    encrypt(plain, associated_data) {
      const key = keys.current()
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce)
      cipher.setAAD(Buffer.from(associated_data))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      const parts = [nonce, cipher.getAuthTag(), text].map((part) => part.toString('base64url'))
      return prefixOf(key) + parts.join('.')
    },
    decrypt(encrypted, associated_data) {
      const [version, id = '', nonce, tag, text] = encrypted.split('.')
      const key = keys.find(id)
      if (version !== 'v1' || key === undefined || nonce === undefined || tag === undefined || text === undefined) {
        throw new Error('the encrypted text cannot be read: its key is not in the key file')
      }
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonce, 'base64url'))
      decipher.setAAD(Buffer.from(associated_data))
      decipher.setAuthTag(Buffer.from(tag, 'base64url'))
      return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString('utf8')
    },
    fingerprint: (text) => createHmac('sha256', keys.eldest().bytes).update(text).digest(),
    prefix: () => prefixOf(keys.current()),
  }
}

function prefixOf(key: Key): string {
  return `v1.${key.id}.`
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

function textOf(keys: readonly Buffer[]): string {
  return `${keys.map((key) => key.toString('base64')).join('\n')}\n`
}

/** Of several replicas at their first start one makes the file, and all use that one. */
function makeKeyFile(key_file: string): void {
  mkdirSync(dirname(key_file), { recursive: true, mode: 0o700 })
  const draft = `${key_file}.${randomBytes(4).toString('hex')}.new`
  writePrivateFile(draft, textOf([randomBytes(32)]))
  try {
    linkSync(draft, key_file)
  } catch (error) {
    if (!existsSync(key_file)) throw error
  } finally {
    rmSync(draft)
  }
}

/**
 * Writes a 0600 file so that a crash leaves either the old content or the new one. It keeps its owner: root must not lock
 * the service out of its own file.
 */
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
  const replaced = statSync(path, { throwIfNoEntry: false })
  if (replaced !== undefined && replaced.uid !== process.getuid?.()) chownSync(temporary, replaced.uid, replaced.gid)
  renameSync(temporary, path)
}

// Key pairs of OpenSSH (PROTOCOL.key of its sources): what ssh reads, made without calling it.
import { generateKeyPairSync, randomBytes } from 'node:crypto'

export interface SshKeyPair {
  /** A line of authorised keys. */
  public_key: string
  /** The text of an unencrypted private key file. */
  private_key: string
}

const TYPE = 'ssh-ed25519'
const BLOCK_BYTES = 8

export function createSshKeyPair(comment: string): SshKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x, d } = { ...publicKey.export({ format: 'jwk' }), d: privateKey.export({ format: 'jwk' }).d }
  if (x === undefined || d === undefined) throw new Error('the key pair has no parts')
  const [point, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')]
  const blob = Buffer.concat([text(TYPE), text(point)])
  const check = randomBytes(4)
  const secret = padded(
    Buffer.concat([check, check, text(TYPE), text(point), text(Buffer.concat([seed, point])), text(comment)]),
  )
  const count = Buffer.from([0, 0, 0, 1])
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'), text('none'), text('none'), text(''), count, text(blob), text(secret),
  ]) // biome-ignore format: the fields of the file
  const lines = file.toString('base64').match(/.{1,70}/g) ?? []
  return {
    public_key: `${TYPE} ${blob.toString('base64')} ${comment}`,
    private_key: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
  }
}

/** A string of the SSH protocol: its length, then its bytes. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function padded(bytes: Buffer): Buffer {
  const missing = (BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, at) => at + 1))])
}

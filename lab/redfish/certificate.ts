/** A self-signed certificate, as every BMC shows one. */
import 'reflect-metadata'
import { createHash, createPrivateKey, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export interface ServerCertificate {
  key: string
  cert: string
  /** SHA-256, hexadecimal with colons. */
  fingerprint: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const YEAR_MS = 365 * 86_400_000

export async function selfSigned(name: string): Promise<ServerCertificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `40${webcrypto.getRandomValues(Buffer.alloc(8)).toString('hex')}`,
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - YEAR_MS),
    notAfter: new Date(Date.now() + 10 * YEAR_MS),
    signingAlgorithm: ALGORITHM,
    keys,
  })
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' })
  const digest = createHash('sha256').update(Buffer.from(certificate.rawData)).digest('hex').toUpperCase()
  return { key: String(key), cert: certificate.toString('pem'), fingerprint: digest.match(/../g)?.join(':') ?? '' }
}

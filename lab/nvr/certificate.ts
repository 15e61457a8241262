/** The certificate that the NVR makes for itself when none was installed. */
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
// The certificate library registers its parts by decorators, which need this first.
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

export interface Certificate {
  /** PEM, with what it was signed by. */
  cert: string
  key: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const YEAR_MS = 365 * 24 * 3600 * 1000

export async function selfSigned(host: string): Promise<Certificate> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: 'O=FRIGATE DEFAULT CERT, CN=*',
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + YEAR_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true),
      new x509.SubjectAlternativeNameExtension([{ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }]),
    ],
  })
  const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
  }
}

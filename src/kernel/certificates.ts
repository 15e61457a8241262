// Certificates of the cluster's own CA: EC P-256, short-lived, and good for one purpose each
// (docs/decisions/0006-agent-trust.md).
import { createPrivateKey, createPublicKey, hash, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import type * as X509 from '@peculiar/x509'

/** PEM texts that belong together. */
export interface KeyedCertificate {
  key: string
  certificate: string
}

export interface IssuedCertificate {
  certificate: string
  serial: string
  expires_at: Date
}

/** Common name of the control plane's certificates; agents answer to no other. */
export const CONTROL_NAME = 'control'
const CERTIFICATE_DAYS = 30

const CA_YEARS = 10
const DAY_MS = 86_400_000
/** Machines that just booted may be minutes behind. */
const CLOCK_SKEW_MS = 10 * 60_000
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** Thrown when a certificate request cannot be honoured; the message may be shown. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError'
}

/** The library takes 0.1 s to load and few processes ever sign, so it is loaded at first use. */
async function library(): Promise<typeof X509> {
  // Its container of parsers needs the metadata API to be there before.
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** A new CA with its self-signed certificate. */
export async function createCa(name = 'Groundplane node CA'): Promise<KeyedCertificate> {
  const x509 = await library()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - CLOCK_SKEW_MS),
    notAfter: new Date(Date.now() + CA_YEARS * 365 * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { key: await privatePem(keys.privateKey), certificate: certificate.toString('pem') }
}

/** A fresh key and a request for a certificate of it. */
export async function createCertificateRequest(name: string): Promise<{ key: string; request: string }> {
  const x509 = await library()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [name] }],
    keys,
    signingAlgorithm: ALGORITHM,
  })
  return { key: await privatePem(keys.privateKey), request: request.toString('pem') }
}

/**
 * A node's certificate for serving its agent. Of the request only the key counts: the name is ours to give, because the
 * request comes from a machine that may claim anything.
 */
export async function issueNodeCertificate(
  ca: KeyedCertificate,
  request_pem: string,
  node_id: string,
): Promise<IssuedCertificate> {
  const x509 = await library()
  return issue(ca, node_id, await requestedKey(x509, request_pem), x509.ExtendedKeyUsage.serverAuth)
}

/** A certificate for calling agents, with its key. */
export async function issueControlCertificate(ca: KeyedCertificate): Promise<KeyedCertificate & IssuedCertificate> {
  const x509 = await library()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const issued = await issue(ca, CONTROL_NAME, keys.publicKey, x509.ExtendedKeyUsage.clientAuth)
  return { ...issued, key: await privatePem(keys.privateKey) }
}

/** For a server that is known by this name and has no way to ask for another one: it lives as long as its CA. */
export async function issueServerCertificate(ca: KeyedCertificate, dns_name: string): Promise<KeyedCertificate> {
  const x509 = await library()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { certificate } = await issue(ca, dns_name, keys.publicKey, x509.ExtendedKeyUsage.serverAuth, {
    days: CA_YEARS * 365,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: dns_name }])],
  })
  return { certificate, key: await privatePem(keys.privateKey) }
}

/** For a management node towards its peers, which it calls and which call it: known by its address. */
export async function issueMemberCertificate(ca: KeyedCertificate, address: string): Promise<KeyedCertificate> {
  const x509 = await library()
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage
  const { certificate } = await issue(ca, address, keys.publicKey, [serverAuth, clientAuth])
  return { certificate, key: await privatePem(keys.privateKey) }
}

const PEM_BODY = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/

/** SHA-256 of the certificate, hexadecimal with colons, as TLS sockets show it. */
export function fingerprintOf(certificate_pem: string): string {
  const [, base64] = PEM_BODY.exec(certificate_pem) ?? []
  if (base64 === undefined) throw new Error('this is no certificate')
  // Not by way of X509Certificate, which decodes all of it: every poll of a thousand nodes comes by here a thousand times.
  const digest = hash('sha256', Buffer.from(base64, 'base64'), 'hex').toUpperCase()
  return digest.match(/../g)?.join(':') ?? ''
}

/** What an enrolment token says of the CA: enough of its fingerprint that nobody makes another with the same. */
export function caMark(certificate_pem: string): string {
  return fingerprintOf(certificate_pem).replaceAll(':', '').toLowerCase().slice(0, 40)
}

/** True once half of the certificate's life is over. */
export function isHalfLived(certificate_pem: string, now: number = Date.now()): boolean {
  return now > halfLifeOf(certificate_pem)
}

/** Unix milliseconds at which half of the certificate's life is over. */
export function halfLifeOf(certificate_pem: string): number {
  const { validFromDate, validToDate } = new X509Certificate(certificate_pem)
  return (validFromDate.getTime() + validToDate.getTime()) / 2
}

export function hasExpired(certificate_pem: string, now: number = Date.now()): boolean {
  return new X509Certificate(certificate_pem).validToDate.getTime() < now
}

async function issue(
  ca: KeyedCertificate,
  name: string,
  publicKey: webcrypto.CryptoKey,
  usage: string | string[],
  { days = CERTIFICATE_DAYS, extensions = [] }: { days?: number; extensions?: X509.Extension[] } = {},
): Promise<IssuedCertificate> {
  const x509 = await library()
  const issuer = new x509.X509Certificate(ca.certificate)
  const serial = serialNumber()
  const expires_at = new Date(Date.now() + days * DAY_MS)
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: [{ CN: [name] }],
    issuer: issuer.subject,
    notBefore: new Date(Date.now() - CLOCK_SKEW_MS),
    notAfter: expires_at,
    signingAlgorithm: ALGORITHM,
    publicKey,
    signingKey: await importedPrivate(ca.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage].flat(), true),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...extensions,
    ],
  })
  return { certificate: certificate.toString('pem'), serial, expires_at }
}

async function requestedKey(x509: typeof X509, request_pem: string): Promise<webcrypto.CryptoKey> {
  try {
    const request = new x509.Pkcs10CertificateRequest(request_pem)
    const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' })
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('another kind of key')
    if (!(await request.verify())) throw new Error('its signature is wrong')
    return await request.publicKey.export(ALGORITHM, ['verify'])
  } catch (cause) {
    throw new CertificateRequestError('The certificate request is not a self-signed request of an EC P-256 key.', {
      cause,
    })
  }
}

/** Positive and never two alike: 128 random bits with a clear first one. */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8(0) & 0x3f) | 0x40, 0)
  return bytes.toString('hex')
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()
}

function importedPrivate(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign'])
}

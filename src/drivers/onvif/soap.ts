// SOAP as cameras speak it: the envelope that we send, and what is read from theirs without trusting its form.
import { createHash, randomBytes } from 'node:crypto'
import { XMLParser } from 'fast-xml-parser'
import type { Login } from './http-digest.ts'

export const MEDIA_1 = 'http://www.onvif.org/ver10/media/wsdl'
export const MEDIA_2 = 'http://www.onvif.org/ver20/media/wsdl'

/** Names without their prefixes; a text is a string, an attribute has an @ before its name. */
export type XmlNode = Readonly<Record<string, unknown>>

export interface Fault {
  /** Codes from the outermost to the innermost, with prefixes. */
  codes: string[]
  reason: string
}

/** Undefined: the text is no SOAP envelope. */
export interface SoapAnswer {
  /** The element inside of the body. */
  content: XmlNode
  fault: Fault | undefined
}

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  // A firmware 5.10 is no number.
  parseTagValue: false,
  parseAttributeValue: false,
})

/** `security`: the header of `passwordDigest`. */
export function envelope(body: string, security = ''): string {
  const spaces = [
    'xmlns:s="http://www.w3.org/2003/05/soap-envelope"',
    'xmlns:tds="http://www.onvif.org/ver10/device/wsdl"',
    `xmlns:trt="${MEDIA_1}"`,
    `xmlns:tr2="${MEDIA_2}"`,
    'xmlns:tt="http://www.onvif.org/ver10/schema"',
  ]
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope ${spaces.join(' ')}><s:Header>${security}</s:Header><s:Body>${body}</s:Body></s:Envelope>`
}

const WSS = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss'

/** WS-UsernameToken with a digest of the password; `now`: the clock of the camera. */
export function passwordDigest({ username, password }: Login, now: Date): string {
  const nonce = randomBytes(16)
  const created = now.toISOString()
  const digest = createHash('sha1').update(nonce).update(created).update(password, 'utf8').digest('base64')
  return [
    `<w:Security xmlns:w="${WSS}-wssecurity-secext-1.0.xsd" s:mustUnderstand="1"><w:UsernameToken>`,
    `<w:Username>${escaped(username)}</w:Username>`,
    `<w:Password Type="${WSS}-username-token-profile-1.0#PasswordDigest">${digest}</w:Password>`,
    `<w:Nonce EncodingType="${WSS}-soap-message-security-1.0#Base64Binary">${nonce.toString('base64')}</w:Nonce>`,
    `<u:Created xmlns:u="${WSS}-wssecurity-utility-1.0.xsd">${created}</u:Created>`,
    '</w:UsernameToken></w:Security>',
  ].join('')
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

export function parseSoap(text: string): SoapAnswer | undefined {
  // SOAP forbids document types; without them there are no entities to expand.
  if (/<!DOCTYPE/i.test(text)) return undefined
  const body = childOf(childOf(parsed(text), 'Envelope'), 'Body')
  if (body === undefined) return undefined
  const fault = childOf(body, 'Fault')
  const [content] = Object.keys(body)
    .filter((name) => !name.startsWith('@'))
    .map((name) => childOf(body, name))
  return { content: content ?? {}, fault: fault === undefined ? undefined : faultOf(fault) }
}

function parsed(text: string): XmlNode | undefined {
  try {
    return nodeOf(parser.parse(text))
  } catch {
    return undefined
  }
}

/** Versions 1.2 and 1.1 of SOAP. */
function faultOf(fault: XmlNode): Fault {
  const codes: string[] = []
  for (let code = childOf(fault, 'Code'); code !== undefined; code = childOf(code, 'Subcode')) {
    codes.push(textAt(code, 'Value'))
  }
  const old = textAt(fault, 'faultcode')
  return {
    codes: old === '' ? codes : [old],
    reason: textAt(fault, 'Reason', 'Text') || textAt(fault, 'faultstring'),
  }
}

/** The first element of this name. */
export function childOf(node: XmlNode | undefined, name: string): XmlNode | undefined {
  return childrenOf(node, name)[0]
}

export function childrenOf(node: XmlNode | undefined, name: string): XmlNode[] {
  const value = node?.[name]
  const all: unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value]
  return all.map(nodeOf).filter((one) => one !== undefined)
}

/** The text of the element at the end of the path, without spaces around it; empty when there is none. */
export function textAt(node: XmlNode | undefined, ...path: string[]): string {
  const last = path.at(-1) ?? ''
  const at = path.slice(0, -1).reduce(childOf, node)
  const value = at?.[last]
  const first: unknown = Array.isArray(value) ? value[0] : value
  const text = typeof first === 'object' && first !== null && '#text' in first ? first['#text'] : first
  return typeof text === 'string' ? text.trim() : ''
}

/** An element that holds nothing but a text is a node without members. */
function nodeOf(value: unknown): XmlNode | undefined {
  if (typeof value === 'string') return {}
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as XmlNode) : undefined
}

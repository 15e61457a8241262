// WS-Discovery to one address: where its ONVIF service is, when it says so within a moment.
import { createSocket } from 'node:dgram'
import { randomUUID } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { childrenOf, parseSoap, textAt } from './soap.ts'

const PORT = 3702
const ANSWER_WITHIN_MS = 1500

/** The URLs that the device names; none when it does not answer. */
export function discover(ip: string, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4')
    const timer = setTimeout(() => end([]), ANSWER_WITHIN_MS)
    let ended = false
    const end = (urls: string[]): void => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      socket.close()
      resolve(urls)
    }
    const stop = (): void => end([])
    signal.addEventListener('abort', stop)
    // Connected: datagrams of others do not arrive, and a closed port is an error.
    socket.on('error', stop)
    socket.on('message', (message) => end(urlsIn(message.toString('utf8'))))
    socket.connect(PORT, ip, () => socket.send(probe()))
  })
}

function probe(): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:dn="http://www.onvif.org/ver10/network/wsdl">',
    '<s:Header><a:Action s:mustUnderstand="1">http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</a:Action>',
    `<a:MessageID>uuid:${randomUUID()}</a:MessageID>`,
    '<a:To s:mustUnderstand="1">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>',
    '<s:Body><d:Probe><d:Types>dn:NetworkVideoTransmitter</d:Types></d:Probe></s:Body></s:Envelope>',
  ].join('')
}

function urlsIn(text: string): string[] {
  const matches = parseSoap(text)?.content
  return childrenOf(matches, 'ProbeMatch')
    .flatMap((match) => textAt(match, 'XAddrs').split(/\s+/))
    .filter((url) => URL.canParse(url))
}

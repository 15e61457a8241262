// The URL of an image: the platform fetches it, so it must neither carry a password into the platform's records nor lead to
// the machines that fetch it.
import ipaddr from 'ipaddr.js'
import { invalidField } from '#src/kernel/errors.ts'

/** Endings that the platform takes for each format, packed or not. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  QCOW2: ['qcow2'],
  RAW: ['img', 'raw'],
  VHD: ['vhd'],
  VHDX: ['vhdx'],
  VMDK: ['vmdk'],
  OVA: ['ova'],
  ISO: ['iso'],
}
const OWN_RANGES = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast'])

/** Private addresses are for the platform to judge: it has a list of the ones it may reach. */
export function checkImageUrl(text: string, format: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrong('must be a URL of http or https')
  if (url.username !== '' || url.password !== '')
    throw wrong('must have no user and password in it: every reader of the image would see them')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const address = ipaddr.isValid(host) ? ipaddr.process(host) : undefined
  if (/^(.*\.)?localhost$/.test(host) || (address !== undefined && OWN_RANGES.has(address.range())))
    throw wrong(`must name a server that the platform can reach, and ${host} is each machine’s own`)
  const endings = ENDINGS[format] ?? []
  const path = url.pathname.toLowerCase().replace(/\.(gz|bz2|zip)$/, '')
  if (endings.some((ending) => path.endsWith(`.${ending}`))) return
  const ways = endings.map((ending) => `.${ending}`).join(' or ')
  throw wrong(`must end in ${ways} for format ${format}, packed as .gz, .bz2 or .zip if need be`)
}

function wrong(message: string): Error {
  return invalidField('body.url', message)
}

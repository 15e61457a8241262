// POST /network/mtu/l2probe: counts or sends raw frames of an exact size, for paths on which ICMP is filtered.
import { isIP } from 'node:net'
import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { MtuL2ProbeRequest, MtuL2ProbeResult } from '#src/contract/network/mtu.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import type { RawSocket } from '#src/kernel/raw-socket.ts'
import { requireDevice } from './change-plan.ts'
import { listOf, parseJson, recordOf } from '../untrusted-json.ts'
import type { MtuLink } from './links.ts'
import { peerMac } from './probe.ts'

export interface L2ProbeOptions {
  host: Host
  /** Devices that carry a role on this node. */
  allowed_devices: readonly string[]
}

export interface L2Probe {
  run(request: MtuL2ProbeRequest, signal: AbortSignal): Promise<MtuL2ProbeResult>
}

const HEADER = 14
const MAGIC = 0x67706d74
const FRAME_GAP_MS = 1
const NEIGHBOUR_MS = 3000

export function createL2Probe({ host, allowed_devices }: L2ProbeOptions): L2Probe {
  const busy = new Set<string>()
  return {
    async run(request, signal) {
      const links = await requireDevice({ host, allowed_devices }, request.device)
      const link = links.find(({ name }) => name === request.device)
      if (link === undefined) throw new Error(`${request.device} is required and is not there`)
      const mac = request.mode === 'send' ? await targetMac(host, request, signal) : ''
      const key = `${request.mode} ${request.device}`
      if (busy.has(key))
        throw new ApiError('MTU_PROBE_RUNNING', `A ${request.mode} probe runs on ${request.device}; wait for its end.`)
      busy.add(key)
      try {
        return request.mode === 'send'
          ? await send(host, request, link, mac)
          : await listen(host, request, link, signal)
      } finally {
        busy.delete(key)
      }
    },
  }
}

async function listen(
  host: Host,
  request: MtuL2ProbeRequest,
  link: MtuLink,
  signal: AbortSignal,
): Promise<MtuL2ProbeResult> {
  const { device, mode, mtu } = request
  const wanted = request.count ?? 20
  const window_ms = request.window_ms ?? 3000
  const heard = { received: 0, other_size: 0, peer_mac: '' }
  const socket = await openSocket(host, link)
  const full = new AbortController()
  try {
    socket.onFrame((frame, length) => {
      if (!carries(frame, request.token ?? 0)) return
      if (length !== mtu + HEADER) {
        heard.other_size += 1
        return
      }
      heard.received += 1
      heard.peer_mac ||= macText(frame.subarray(6, 12))
      if (heard.received >= wanted) full.abort()
    })
    await wait(window_ms, undefined, { signal: AbortSignal.any([full.signal, signal]) }).catch(() => {})
  } finally {
    socket.close()
  }
  const other = heard.other_size === 0 ? '' : `; ${heard.other_size} of another size`
  const detail = `${heard.received} of ${wanted} frames with ${mtu} bytes of payload received${other}`
  return { detail, device, mode, peer_mac: heard.peer_mac, mtu, received: heard.received, sent: 0 }
}

async function send(
  host: Host,
  request: MtuL2ProbeRequest,
  link: MtuLink,
  peer_mac: string,
): Promise<MtuL2ProbeResult> {
  const { device, mode, mtu } = request
  const count = request.count ?? 20
  const answer = (sent: number, detail: string): MtuL2ProbeResult => ({
    detail,
    device,
    mode,
    peer_mac,
    mtu,
    received: 0,
    sent,
  })
  if (mtu > link.mtu) return answer(0, `local MTU too small: ${device} runs at ${link.mtu}, the payload is ${mtu}`)
  const { errno: ERRNO } = constants
  const source = await ownMac(host, link)
  const socket = await openSocket(host, link)
  let sent = 0
  try {
    for (let sequence = 0; sequence < count; sequence += 1) {
      const errno = socket.send(
        probeFrame({ target: macBytes(peer_mac), source, token: request.token ?? 0, sequence, mtu }),
      )
      if (errno === ERRNO.EMSGSIZE)
        return answer(sent, `local MTU too small: the kernel refuses ${mtu} bytes on ${device}`)
      if (errno === ERRNO.ENETDOWN) return answer(sent, `${device} is down`)
      // A full queue drops this frame; it counts as not sent.
      if (errno !== null && errno !== ERRNO.ENOBUFS && errno !== ERRNO.EAGAIN)
        return answer(sent, `the kernel refuses to send: errno ${errno}`)
      if (errno === null) sent += 1
      await wait(FRAME_GAP_MS)
    }
  } finally {
    socket.close()
  }
  return answer(sent, `${sent} of ${count} frames with ${mtu} bytes of payload sent to ${peer_mac}`)
}

export interface ProbeFrame {
  target: Buffer
  source: Buffer
  token: number
  sequence: number
  mtu: number
}

/** Ethernet header, magic, token, sequence number, then zeros up to exactly `mtu` bytes of payload. */
export function probeFrame({ target, source, token, sequence, mtu }: ProbeFrame): Buffer {
  const frame = Buffer.alloc(HEADER + mtu)
  target.copy(frame, 0)
  source.copy(frame, 6)
  frame.writeUInt16BE(0x88b5, 12)
  frame.writeUInt32BE(MAGIC, HEADER)
  frame.writeUInt32BE(token, HEADER + 4)
  frame.writeUInt32BE(sequence, HEADER + 8)
  return frame
}

function carries(frame: Buffer, token: number): boolean {
  return frame.length >= HEADER + 12 && frame.readUInt32BE(HEADER) === MAGIC && frame.readUInt32BE(HEADER + 4) === token
}

async function openSocket(host: Host, { ifindex, name }: MtuLink): Promise<RawSocket> {
  try {
    return await host.rawSocket(ifindex)
  } catch (cause) {
    throw new ApiError('RAW_SOCKETS_UNAVAILABLE', `No raw socket could be opened on ${name}.`, { cause })
  }
}

async function targetMac(
  host: Host,
  { device, peer, peer_mac }: MtuL2ProbeRequest,
  signal: AbortSignal,
): Promise<string> {
  if (peer_mac !== undefined && peer_mac !== '') return peer_mac.toLowerCase()
  if (peer === undefined || isIP(peer) === 0) throw invalidField('peer', 'an IP address, unless peer_mac is given')
  const until = host.monotonic() + NEIGHBOUR_MS
  let asked = false
  for (;;) {
    const mac = await peerMac(host, peer, device)
    if (mac !== null) return mac
    // Whether the peer answers does not matter: the kernel asks for its address before it sends.
    if (!asked) await host.run('ping', ['-n', '-c', '1', '-W', '1', '-I', device, peer], { timeout_ms: 3000 })
    asked = true
    if (signal.aborted || host.monotonic() > until) {
      throw new ApiError('MTU_PEER_UNKNOWN', `${peer} does not answer for its link-layer address on ${device}.`)
    }
    await wait(100)
  }
}

async function ownMac(host: Host, { name }: MtuLink): Promise<Buffer> {
  const run = await host.run('ip', ['-j', 'link', 'show', 'dev', name], { timeout_ms: 5000 })
  const { address } = recordOf(listOf(parseJson(run.stdout))[0])
  return typeof address === 'string' ? macBytes(address) : Buffer.alloc(6)
}

function macBytes(text: string): Buffer {
  return Buffer.from(text.replaceAll(':', ''), 'hex')
}

function macText(bytes: Buffer): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}

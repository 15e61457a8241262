// Raw Ethernet frames from Node: one packet socket on one device, read when the event loop says so (linux-node.md 4.6).
import koffi from 'koffi'

/** Ethernet frames of our protocol on one device. */
export interface RawSocket {
  /** Null when sent; else the kernel's errno. */
  send(frame: Buffer): number | null
  onFrame(take: (frame: Buffer, length: number) => void): void
  close(): void
}

/** IEEE local experimental EtherType 1. */
export const PROBE_PROTOCOL = 0x88b5

const AF_PACKET = 17
const SOCK_RAW_NONBLOCK_CLOEXEC = 3 | 0o4000 | 0o2000000
const SOL_SOCKET = 1
const SO_RCVBUFFORCE = 33
const MSG_DONTWAIT_TRUNC = 0x40 | 0x20
/** The default buffer loses most of a burst of jumbo frames and would report them as lost on the way. */
const RECEIVE_BUFFER = 8 * 1024 * 1024
const FRAME_MAX = 65_535 + 14

/** A system call that failed; `errno` says why. */
export class RawSocketError extends Error {
  readonly errno: number
  constructor(call: string, errno: number) {
    super(`${call} failed with errno ${errno}`)
    this.name = 'RawSocketError'
    this.errno = errno
  }
}

interface Calls {
  socket(family: number, type: number, protocol: number): number
  bind(fd: number, address: Buffer, length: number): number
  setsockopt(fd: number, level: number, name: number, value: Buffer, length: number): number
  send(fd: number, frame: Buffer, length: number, flags: number): number
  recv(fd: number, into: Buffer, length: number, flags: number): number
  close(fd: number): number
}

export function openRawSocket(ifindex: number, protocol = PROBE_PROTOCOL): RawSocket {
  const libc = systemCalls()
  const fd = libc.socket(AF_PACKET, SOCK_RAW_NONBLOCK_CLOEXEC, swap16(protocol))
  if (fd < 0) throw new RawSocketError('socket', koffi.errno())
  const size = Buffer.alloc(4)
  size.writeInt32LE(RECEIVE_BUFFER)
  libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, 4)
  if (libc.bind(fd, linkAddress(ifindex, protocol), 20) < 0) {
    const errno = koffi.errno()
    libc.close(fd)
    throw new RawSocketError('bind', errno)
  }
  let handle: ReturnType<typeof koffi.node.poll> | undefined
  return {
    send(frame) {
      return libc.send(fd, frame, frame.length, 0) < 0 ? koffi.errno() : null
    },
    onFrame(take) {
      const into = Buffer.alloc(FRAME_MAX)
      handle = koffi.node.poll(fd, { readable: true }, () => {
        for (;;) {
          const length = libc.recv(fd, into, into.length, MSG_DONTWAIT_TRUNC)
          if (length < 0) return
          take(into.subarray(0, Math.min(length, into.length)), length)
        }
      })
    },
    close() {
      handle?.stop()
      handle?.close()
      libc.close(fd)
    },
  }
}

function systemCalls(): Calls {
  const libc = koffi.load(null)
  return {
    socket: libc.func('int socket(int family, int type, int protocol)'),
    bind: libc.func('int bind(int fd, void *address, uint32 length)'),
    setsockopt: libc.func('int setsockopt(int fd, int level, int name, void *value, uint32 length)'),
    send: libc.func('long send(int fd, void *frame, size_t length, int flags)'),
    recv: libc.func('long recv(int fd, void *into, size_t length, int flags)'),
    close: libc.func('int close(int fd)'),
  }
}

/** struct sockaddr_ll: family, protocol in network order, interface index; the rest stays zero. */
function linkAddress(ifindex: number, protocol: number): Buffer {
  const address = Buffer.alloc(20)
  address.writeUInt16LE(AF_PACKET, 0)
  address.writeUInt16BE(protocol, 2)
  address.writeInt32LE(ifindex, 4)
  return address
}

function swap16(value: number): number {
  return ((value & 0xff) << 8) | (value >> 8)
}

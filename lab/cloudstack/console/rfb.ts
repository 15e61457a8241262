/** The server's side of RFB 3.8 (RFC 6143) for a screen of text: no security, as behind the platform's console proxy, raw rectangles. */
import { HEIGHT, LINE_HEIGHT, LINES, type TextScreen, WIDTH } from './text-screen.ts'

export interface RfbSession {
  /** Bytes of the client, in pieces of any size. */
  receive(data: Buffer): void
  /** The screen was written to. */
  changed(): void
}

interface Deps {
  name: string
  screen: TextScreen
  send(data: Buffer): void
  /** A key went down, by its X11 number. */
  key(keysym: number): void
  close(): void
}

const VERSION = 'RFB 003.008\n'
const SECURITY_NONE = 1
/** 32 bits a pixel, 24 of them colour, the lowest byte first. */
const PIXEL_FORMAT = Buffer.from([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0])
const LIT = [0xd0, 0xd8, 0xd0] as const

/** How long each message of the client is, by its type; undefined until that much of it is there. */
const LENGTHS: Readonly<Record<number, (data: Buffer) => number | undefined>> = {
  0: () => 20,
  2: (data) => (data.length < 4 ? undefined : 4 + 4 * data.readUInt16BE(2)),
  3: () => 10,
  4: () => 8,
  5: () => 6,
  6: (data) => (data.length < 8 ? undefined : 8 + Math.abs(data.readInt32BE(4))),
}

export function openRfbSession({ name, screen, send, key, close }: Deps): RfbSession {
  let waiting = Buffer.alloc(0)
  let expect: 'version' | 'security' | 'init' | 'messages' = 'version'
  let format = PIXEL_FORMAT
  let shown: readonly string[] = []
  let wants: 'nothing' | 'changes' | 'everything' = 'nothing'
  send(Buffer.from(VERSION))

  const take = (length: number): Buffer | undefined => {
    if (waiting.length < length) return undefined
    const taken = waiting.subarray(0, length)
    waiting = waiting.subarray(length)
    return taken
  }
  const update = (): void => {
    if (wants === 'nothing') return
    const lines = Array.from({ length: LINES }, (_none, at) => at).filter(
      (at) => wants === 'everything' || screen.lines[at] !== shown[at],
    )
    if (lines.length === 0) return
    wants = 'nothing'
    shown = [...screen.lines]
    const head = Buffer.alloc(4)
    head.writeUInt16BE(lines.length, 2)
    send(Buffer.concat([head, ...lines.map((line) => lineOf(screen, line, format))]))
  }
  const handshake = (): boolean => {
    if (expect === 'version') {
      if (take(VERSION.length) === undefined) return false
      send(Buffer.from([1, SECURITY_NONE]))
      expect = 'security'
    } else if (expect === 'security') {
      if (take(1) === undefined) return false
      send(Buffer.alloc(4))
      expect = 'init'
    } else {
      if (take(1) === undefined) return false
      send(serverInit(name))
      expect = 'messages'
    }
    return true
  }
  const message = (): boolean => {
    const type = waiting[0]
    if (type === undefined) return false
    const lengthOf = LENGTHS[type]
    if (lengthOf === undefined) {
      close()
      return false
    }
    const length = lengthOf(waiting)
    const data = length === undefined ? undefined : take(length)
    if (data === undefined) return false
    if (type === 0) format = Buffer.from(data.subarray(4, 20))
    if (type === 3) wants = data[1] === 1 ? 'changes' : 'everything'
    if (type === 4 && data[1] === 1) key(data.readUInt32BE(4))
    update()
    return true
  }
  return {
    receive(data) {
      waiting = Buffer.concat([waiting, data])
      while (expect === 'messages' ? message() : handshake());
    },
    changed: update,
  }
}

function serverInit(name: string): Buffer {
  const title = Buffer.from(name)
  const init = Buffer.alloc(24)
  init.writeUInt16BE(WIDTH, 0)
  init.writeUInt16BE(HEIGHT, 2)
  PIXEL_FORMAT.copy(init, 4)
  init.writeUInt32BE(title.length, 20)
  return Buffer.concat([init, title])
}

/** One line as a raw rectangle in the client's own order of colours. */
function lineOf(screen: TextScreen, line: number, format: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(line * LINE_HEIGHT, 2)
  head.writeUInt16BE(WIDTH, 4)
  head.writeUInt16BE(LINE_HEIGHT, 6)
  const lit = LIT.reduce((pixel, value, at) => pixel | (value << (format[10 + at] ?? 0)), 0)
  const pixels = Buffer.alloc(WIDTH * LINE_HEIGHT * 4)
  for (let y = 0; y < LINE_HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      if (screen.dotAt(x, line * LINE_HEIGHT + y)) pixels.writeUInt32LE(lit, (y * WIDTH + x) * 4)
    }
  }
  return Buffer.concat([head, pixels])
}

// Whether an SSH server answers. That a connection is accepted means little: forwarders accept for servers that are not there.
import { connect } from 'node:net'

const TIMEOUT_MS = 5000
const MOST_BYTES = 8192

/** The identification line (RFC 4253, 4.2), which other lines may precede; null when none comes. Never throws. */
export function readSshBanner(address: string, port: number, signal?: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.timeout(TIMEOUT_MS)
    const socket = connect({
      host: address,
      port,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    })
    let text = ''
    const end = (banner: string | null): void => {
      socket.destroy()
      resolve(banner)
    }
    socket.on('error', () => end(null))
    socket.on('close', () => end(null))
    socket.on('data', (part) => {
      text += part.toString('latin1')
      const banner = /^SSH-[0-9.]+-[\x21-\x7e]+[^\r\n]*(?=\r?\n)/m.exec(text)?.[0]
      if (banner !== undefined) end(banner.slice(0, 255))
      else if (text.length > MOST_BYTES) end(null)
    })
  })
}

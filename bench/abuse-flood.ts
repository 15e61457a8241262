// Sends the same hostile request many times at once, in a thread of its own: what measures beside it must not wait for it.
import { request } from 'node:http'
import { parentPort } from 'node:worker_threads'

export interface Flood {
  url: string
  method: string
  body: string
  at_once: number
}

parentPort?.on('message', (flood: Flood) => {
  void Promise.all(Array.from({ length: flood.at_once }, () => send(flood))).then((bytes) =>
    parentPort?.postMessage(Math.max(...bytes)),
  )
})

/** Bytes of the answer; none where the connection is closed in the middle of a body that is too large. */
function send({ url, method, body }: Flood): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const call = request(url, { method, headers, agent: false }, (answer) => {
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.on('close', () => resolve(bytes))
    })
    call.on('error', () => resolve(bytes))
    call.end(body)
  })
}

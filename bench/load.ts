// A bounded load: so many requests over so many connections, answers read to their end.
import { Agent, request } from 'node:http'

export interface Load {
  url: string
  method?: string
  headers?: Record<string, string>
  body?: string
  requests: number
  connections: number
}

export interface LoadResult {
  seconds: number
  /** Milliseconds of each request. */
  latencies: number[]
}

export async function runLoad(load: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.connections })
  const latencies: number[] = []
  let left = load.requests
  const started = performance.now()
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const began = performance.now()
      await one(load, agent)
      latencies.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: load.connections }, worker))
  const seconds = (performance.now() - started) / 1000
  agent.destroy()
  return { seconds, latencies }
}

function one(load: Load, agent: Agent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const call = request(load.url, { method: load.method ?? 'GET', agent, headers: load.headers ?? {} }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const body = Buffer.concat(chunks)
        if ((answer.statusCode ?? 500) >= 300)
          reject(new Error(`${load.url}: ${answer.statusCode} ${body.toString().slice(0, 300)}`))
        else resolve(body)
      })
    })
    call.on('error', reject)
    call.end(load.body)
  })
}

// The place of wipe images for tests: what a machine boots from, and where its report goes.
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { systemContext } from '#src/kernel/http/context.ts'
import { createLog } from '#src/kernel/log.ts'
import { wipeResultReport } from '#src/modules/lifecycle/wipe/result.ts'
import { findBootImage, recordFetch } from '#src/store/bmcs.ts'
import { listenOn } from '../../lab/control.ts'
import { wipeImage } from '../../lab/redfish/wipe-image.ts'
import { tempFolder } from './temp-folder.ts'
import type { WalkSite } from './walk-site.ts'

const log = createLog({ level: 'silent' })

export interface WipeImages {
  server: Server
  folder: string
  port: number
}

/** Serves wipe images, and takes their reports, as the control plane does. */
export async function startWipeImages({ database }: WalkSite): Promise<WipeImages> {
  const folder = join(tempFolder('gp-wipe-'), 'images')
  mkdirSync(folder)
  writeFileSync(join(folder, 'wipe.iso'), wipeImage())
  const takeReport = async (request: IncomingMessage): Promise<void> => {
    const report = wipeResultReport({ database, jobs: { signal: async () => true }, log })
    await report(
      { body: JSON.parse(await text(request)) as never } as never,
      systemContext('wipeResultReport', log, AbortSignal.timeout(60_000)),
    )
  }
  const server = createServer((request, response) => {
    const [, place, capability = '', file = ''] = request.url?.split('/') ?? []
    if (request.method === 'POST') {
      takeReport(request).then(
        () => response.end('{}'),
        () => response.writeHead(500).end(),
      )
    } else if (place === 'boot') {
      void findBootImage(database.db, capability).then(async (granted) => {
        if (granted?.file !== file) return response.writeHead(404).end()
        await recordFetch(database.db, capability, '127.0.0.1', 1)
        return createReadStream(join(folder, file)).pipe(response)
      })
    }
  })
  const url = await listenOn(server, { host: '127.0.0.1', port: 0 })
  return { server, folder, port: Number(new URL(url).port) }
}

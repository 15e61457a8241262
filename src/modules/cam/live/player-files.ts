// The player for browsers: the files of src/player as they are, without their types, and hls.js. Read once, when first asked for.
import { readFile } from 'node:fs/promises'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { BytesAnswer } from '#src/contract/answers.ts'
import { ApiError } from '#src/kernel/errors.ts'

const FOLDER = new URL('../../../player/', import.meta.url)
/** Nothing but these files, this service, and media that the page made itself. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const PAGE = 'page.html'
/** Of the page, and of the player on any page. */
const STYLES: readonly string[] = ['page.css', 'player.css']
const HLS = 'hls.mjs'

export interface PlayerFiles {
  page(): Promise<BytesAnswer>
  file(name: string): Promise<BytesAnswer>
}

export function createPlayerFiles(): PlayerFiles {
  const files = new Map<string, Promise<BytesAnswer>>()
  const file = (name: string): Promise<BytesAnswer> => {
    const loaded = files.get(name) ?? load(name)
    files.set(name, loaded)
    // What could not be read is read again; nobody fills the memory with names.
    loaded.catch(() => files.delete(name))
    return loaded
  }
  return {
    file,
    async page() {
      return { ...(await file(PAGE)), headers: { 'content-security-policy': POLICY, 'cache-control': 'no-cache' } }
    },
  }
}

async function load(name: string): Promise<BytesAnswer> {
  const headers = { 'cache-control': 'no-cache' }
  if (name === HLS) {
    const path = createRequire(import.meta.url).resolve('hls.js/dist/hls.light.mjs')
    return { media_type: 'text/javascript; charset=utf-8', body: await read(path), headers }
  }
  if (/^[a-z-]+\.ts$/.test(name)) {
    const body = stripTypeScriptTypes(await read(new URL(name, FOLDER)))
    return { media_type: 'text/javascript; charset=utf-8', body, headers }
  }
  if (name !== PAGE && !STYLES.includes(name)) throw notFound(name)
  const media_type = name === PAGE ? 'text/html; charset=utf-8' : 'text/css; charset=utf-8'
  return { media_type, body: await read(new URL(name, FOLDER)), headers }
}

async function read(place: URL | string): Promise<string> {
  try {
    return await readFile(place, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw notFound(String(place))
    throw error
  }
}

function notFound(name: string): ApiError {
  return new ApiError('NOT_FOUND', `The player has no file ${JSON.stringify(name.split('/').at(-1))}.`)
}

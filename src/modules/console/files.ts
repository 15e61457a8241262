// The files of the console as they are sent: built when somebody first asks, then served from memory.
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { BytesAnswer } from '#src/contract/answers.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { acceptedEncoding } from '#src/kernel/http/compression.ts'
import { buildConsole, type BuiltFile } from './build.ts'
import type { Commands } from './contract-table.ts'

export interface ConsoleFiles {
  page(): Promise<BytesAnswer>
  asset(name: string, accept_encoding: string): Promise<BytesAnswer>
}

/** Nothing but these files and this service; text never becomes markup or script. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types console',
].join('; ')
/** A worker obeys the policy that its own script was served with. */
const ASSET_POLICY = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
const FOR_GOOD = 'public, max-age=31536000, immutable'
const BROTLI_QUALITY = 9

interface Asset extends BuiltFile {
  compressed: Buffer
}

interface Files {
  page: string
  assets: ReadonlyMap<string, Asset>
}

/** What the page knows before anybody signed in. */
export interface PageFacts {
  /** There is an identity provider to sign in at. */
  oidc: boolean
  /** Read when the console is built, and not before. */
  commands: () => Promise<Commands>
}

export function createConsoleFiles(facts: PageFacts): ConsoleFiles {
  let built: Promise<Files> | undefined
  const files = (): Promise<Files> => {
    built ??= load(facts).catch((error: unknown) => {
      built = undefined
      throw error
    })
    return built
  }
  return {
    async page() {
      const headers = { 'content-security-policy': PAGE_POLICY, 'cross-origin-opener-policy': 'same-origin' }
      return { media_type: 'text/html; charset=utf-8', body: (await files()).page, headers }
    },
    async asset(name, accept_encoding) {
      const asset = (await files()).assets.get(name)
      if (asset === undefined) throw new ApiError('NOT_FOUND', `This version of the console has no file ${name}.`)
      const headers = { 'content-security-policy': ASSET_POLICY, 'cache-control': FOR_GOOD, vary: 'accept-encoding' }
      const { media_type, body, compressed } = asset
      // Without it the answer is compressed on its way, as every other.
      if (acceptedEncoding(accept_encoding) !== 'br') return { media_type, body, headers }
      return { media_type, body: compressed, headers: { ...headers, 'content-encoding': 'br' } }
    },
  }
}

async function load(facts: PageFacts): Promise<Files> {
  const { page, files } = await buildConsole({ ...facts, commands: await facts.commands() })
  const compress = promisify(brotliCompress)
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const assets = await Promise.all(
    files.map(
      async (file): Promise<[string, Asset]> => [
        file.name,
        { ...file, compressed: await compress(file.body, { params }) },
      ],
    ),
  )
  return { page, assets: new Map(assets) }
}

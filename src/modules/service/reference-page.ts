// The offline API reference at /docs: Scalar's page and script, served from memory, loaded when somebody first asks.
import { createHash } from 'node:crypto'
import type { BytesAnswer } from '#src/contract/answers.ts'

export interface ReferencePage {
  html(): Promise<BytesAnswer>
  script(): Promise<BytesAnswer>
}

/** Bytes, because a text is copied for every caller: a hundred at once would take half a gigabyte for the script. */
interface Parts {
  html: Buffer
  script: Buffer
  /** Hashes of the page's own inline scripts: the only inline ones its policy allows. */
  inline: string[]
}

const SCRIPT_PATH = '/docs/reference.js'

/** Nothing of this set as a whole asks the network: no fonts, no agent, no telemetry. */
const SETTINGS = {
  url: '/openapi.json',
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
}

/** A plane over its ground line. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M8 1 15 10H1z" fill="#2563eb"/><path d="M1 13h14" stroke="#64748b" stroke-width="2"/></svg>',
)}`

export function createReferencePage(): ReferencePage {
  let loaded: Promise<Parts> | undefined
  const parts = (): Promise<Parts> => {
    loaded ??= load()
    return loaded
  }
  return {
    async html() {
      const { html, inline } = await parts()
      return {
        media_type: 'text/html; charset=utf-8',
        body: html,
        headers: { 'content-security-policy': policy(inline), 'cache-control': 'no-cache' },
      }
    },
    async script() {
      const { script } = await parts()
      return {
        media_type: 'text/javascript; charset=utf-8',
        body: script,
        headers: { 'cache-control': 'no-cache' },
      }
    },
  }
}

/** The package gives its page only as a Fastify plugin: a private instance renders it once. */
async function load(): Promise<Parts> {
  const [{ default: Fastify }, { default: scalar }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ])
  const inner = Fastify({ logger: false })
  await inner.register(scalar as never, { routePrefix: '/docs', configuration: SETTINGS } as never)
  const page = await inner.inject('/docs/')
  const script = await inner.inject('/docs/js/scalar.js')
  await inner.close()
  const html = page.body
    .replace(/(src=")[^"]*scalar\.js[^"]*(")/, `$1${SCRIPT_PATH}$2`)
    .replace(/<title>[^<]*<\/title>/, `<title>Groundplane API</title><link rel="icon" href="${ICON}">`)
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map((match) =>
    createHash('sha256')
      .update(match[1] ?? '')
      .digest('base64'),
  )
  return { html: Buffer.from(html), script: script.rawPayload, inline }
}

function policy(inline: readonly string[]): string {
  const hashes = inline.map((hash) => `'sha256-${hash}'`).join(' ')
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

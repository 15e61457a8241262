// Builds the console out of src/console with esbuild, in memory: scripts, a style sheet, and what the contract says.
import { createHash } from 'node:crypto'
import { basename, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { type Commands, contractDetails, contractTable } from './contract-table.ts'

export interface BuiltFile {
  /** With a hash of its content. */
  name: string
  media_type: string
  body: Buffer
}

export interface BuiltConsole {
  page: string
  files: BuiltFile[]
}

const FOLDER = fileURLToPath(new URL('../../console/', import.meta.url))
const MEDIA_TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
}

export interface BuildFacts {
  /** There is an identity provider to sign in at. */
  oidc: boolean
  commands: Commands
}

export async function buildConsole({ oidc, commands }: BuildFacts): Promise<BuiltConsole> {
  // Takes a tenth of a second to load, so only where the console is used.
  const { build, stop } = await import('esbuild')
  try {
    const { outputFiles } = await build({
      absWorkingDir: FOLDER,
      entryPoints: { main: 'main.tsx', stream: 'stream/worker.ts' },
      entryNames: '[name]-[hash]',
      outdir: FOLDER,
      bundle: true,
      // What `import()` names is a file of its own, fetched when it is first needed.
      splitting: true,
      chunkNames: 'part-[hash]',
      write: false,
      minify: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      legalComments: 'none',
      logLevel: 'silent',
      plugins: [contract],
    })
    const files = outputFiles.map(({ path, contents }) => builtFile(basename(path), Buffer.from(contents)))
    const details = Buffer.from(JSON.stringify(contractDetails(commands)))
    const hash = createHash('sha256').update(details).digest('hex').slice(0, 8)
    files.push(builtFile(`contract-${hash}.json`, details))
    return { page: pageOf(files, oidc), files }
  } finally {
    await stop()
  }
}

function builtFile(name: string, body: Buffer): BuiltFile {
  return { name, media_type: MEDIA_TYPES[extname(name)] ?? 'application/octet-stream', body }
}

/** `import table from 'contract:table'`: what the running service itself serves. */
const contract: Plugin = {
  name: 'contract',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^contract:table$/ }, ({ path }) => ({ path, namespace: 'contract' }))
    onLoad({ filter: /.*/, namespace: 'contract' }, () => ({
      contents: JSON.stringify(contractTable()),
      loader: 'json',
    }))
  },
}

function pageOf(files: readonly BuiltFile[], oidc: boolean): string {
  const address = (start: string, end: string): string => {
    const file = files.find(({ name }) => name.startsWith(start) && name.endsWith(end))
    if (file === undefined) throw new Error(`the build of the console made no ${start}…${end}`)
    return `/console/assets/${file.name}`
  }
  const script = files.find(({ name }) => name.startsWith('main-') && name.endsWith('.js'))?.body.toString() ?? ''
  // What the first script needs before it runs; what it fetches later is not among these.
  const needed = [...script.matchAll(/from"\.\/(part-\w+\.js)"/g)].map(([, name]) => `/console/assets/${name}`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="console-stream" content="${address('stream-', '.js')}">
<meta name="console-contract" content="${address('contract-', '.json')}">
${oidc ? '<meta name="console-oidc" content="/auth/oidc/start">\n' : ''}<title>Groundplane</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${address('main-', '.css')}">
${needed.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n')}
<script type="module" src="${address('main-', '.js')}"></script>
<body><div id="root"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`
}

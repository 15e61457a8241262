// Completes package-lock.json after a change of packages: npm leaves out optional platform packages that the registry at hand
// does not serve, and `npm ci` then refuses the whole file. They are written down by name and version alone; no machine that
// they are not for ever installs them.
import { readFileSync, writeFileSync } from 'node:fs'

interface LockEntry {
  version?: string
  license?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32', 'aix']
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> }
let added = 0
for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (`node_modules/${name}` in lock.packages || `${place}/node_modules/${name}` in lock.packages) continue
    const platform = platformOf(name)
    if (platform === undefined || !/^\d/.test(version)) {
      console.error(`left alone: ${name} ${version}`)
      continue
    }
    lock.packages[`node_modules/${name}`] = {
      version,
      ...platform,
      ...(entry.dev === true ? { dev: true } : {}),
      ...(entry.license === undefined ? {} : { license: entry.license }),
      optional: true,
    }
    added += 1
  }
}
const { '': root = {}, ...packages } = lock.packages
const sorted = Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(file, `${JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(sorted) } }, null, 2)}\n`)
console.log(`${added} platform packages added`)

/** Platform packages say in their name what they are for: `…-linux-arm64-musl`. */
function platformOf(name: string): Pick<LockEntry, 'os' | 'cpu' | 'libc'> | undefined {
  const words = name.replace(/^.*\//, '').split('-')
  const os = words.find((word) => SYSTEMS.includes(word))
  const cpu = words.find((word) => PROCESSORS.includes(word))
  if (os === undefined && cpu === undefined) return undefined
  const libc = words.includes('musl') ? 'musl' : words.some((word) => word.startsWith('gnu')) ? 'glibc' : undefined
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(libc === undefined ? {} : { libc: [libc] }),
    ...(os === undefined ? {} : { os: [os] }),
  }
}

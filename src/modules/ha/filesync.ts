// File-sync keys: one key pair a management node, and the lines by which peers may copy files to this one.
import { mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { replaceFile } from '#src/kernel/durable-file.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { createSshKeyPair } from '#src/kernel/ssh-key.ts'
import { haMembers, type HaMemberRow, saveFilesyncKey, sshFingerprint } from '#src/store/ha-members.ts'
import type { HaDeps } from './deps.ts'

const KEY_FILE = 'filesync_ed25519'

export interface KeySync {
  peers: number
  updated: string[]
  removed: string[]
  unreachable: { address: string; reason: string }[]
}

export interface Filesync {
  ownKey(): Promise<{ public_key: string; fingerprint: string; node: string }>
  /** One at a time. Throws HA_NOT_CONFIGURED and HA_KEYS_FAILED. */
  sync(): Promise<KeySync>
}

export function createFilesync(deps: HaDeps): Filesync {
  const node = deps.config.ha.address ?? hostname()
  let key: Promise<string> | undefined
  let last: Promise<unknown> = Promise.resolve()
  return {
    async ownKey() {
      key ??= readOrMakeKey(deps.ha_dir, node).catch((error: unknown) => {
        key = undefined
        throw error
      })
      const public_key = await key
      return { public_key, fingerprint: sshFingerprint(public_key), node }
    },
    sync() {
      const mine = last.then(() => syncKeys(deps))
      last = mine.catch(() => {})
      return mine
    },
  }
}

async function readOrMakeKey(ha_dir: string, node: string): Promise<string> {
  const path = join(ha_dir, KEY_FILE)
  try {
    const known = await readFile(`${path}.pub`, 'utf8').catch(() => undefined)
    if (known !== undefined) return known.trim()
    const made = createSshKeyPair(`groundplane-filesync-${node}`)
    await mkdir(ha_dir, { recursive: true, mode: 0o750 })
    // The public half last: it stands for the pair.
    await replaceFile(path, made.private_key, { mode: 0o600 })
    await replaceFile(`${path}.pub`, `${made.public_key}\n`, { mode: 0o644 })
    return made.public_key
  } catch (cause) {
    throw new ApiError('HA_KEYS_FAILED', `The file-sync key of this node cannot be read or made in ${ha_dir}.`, {
      cause,
    })
  }
}

const PeerKey = Type.Object({
  public_key: Type.String({ maxLength: 500, pattern: '^ssh-ed25519 [A-Za-z0-9+/]{60,100}={0,2}( [A-Za-z0-9.:_-]{1,200})?$' }),
  node: Type.String({ maxLength: 255 }),
}) // biome-ignore format: two fields

async function syncKeys(deps: HaDeps): Promise<KeySync> {
  const own = deps.config.ha.address
  if (own === undefined) {
    throw new ApiError(
      'HA_NOT_CONFIGURED',
      'This replica is no member: set ha.address to its address on the cluster network.',
    )
  }
  const peers = (await haMembers(deps.database.db)).filter(({ address }) => address !== own)
  const fetched = await Promise.all(peers.map((peer) => fetchKey(deps, peer)))
  const unreachable = fetched.flatMap((one) => ('reason' in one ? [one] : []))
  const keys = new Map(
    peers.flatMap(({ address, filesync_key }, at): [string, string][] => {
      const one = fetched[at]
      const public_key = one !== undefined && 'public_key' in one ? one.public_key : filesync_key
      return public_key === null ? [] : [[address, public_key]]
    }),
  )
  const path = deps.config.ha.authorized_keys_file ?? join(deps.ha_dir, 'authorized_keys')
  try {
    return { peers: peers.length, ...(await writeKeys(path, keys, deps.config.ha.scope_dir)), unreachable }
  } catch (cause) {
    throw new ApiError('HA_KEYS_FAILED', `The authorised keys in ${path} cannot be written.`, { cause })
  }
}

type Fetched = { public_key: string } | { address: string; reason: string }

/** From the peer itself, whose certificate was checked; what it says of another node is not taken. */
async function fetchKey({ peers, database }: HaDeps, { address, filesync_key }: HaMemberRow): Promise<Fetched> {
  try {
    const body = await peers.call(address, 'GET', '/internal/ssh/filesync-pubkey')
    if (!Value.Check(PeerKey, body)) return { address, reason: 'Its answer holds no key.' }
    if (body.node !== address) return { address, reason: `Its key is of another node, ${body.node}.` }
    const [type, base64] = body.public_key.split(' ')
    const public_key = `${type} ${base64}`
    if (public_key !== filesync_key) await saveFilesyncKey(database.db, address, public_key)
    return { public_key }
  } catch (error) {
    return { address, reason: error instanceof Error ? error.message : 'It cannot be called.' }
  }
}

const BEGIN = '# BEGIN groundplane: lines up to END are rewritten'
const END = '# END groundplane'

async function writeKeys(
  path: string,
  keys: ReadonlyMap<string, string>,
  scope_dir: string,
): Promise<{ updated: string[]; removed: string[] }> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const { before, block, after } = splitBlock(text)
  const known = new Map(block.map((line) => [/from="([^"]+)"/.exec(line)?.[1] ?? '', line]))
  const wanted = new Map([...keys].map(([address, key]) => [address, lineOf(address, key, scope_dir)]))
  const updated = [...wanted.keys()].filter((address) => known.get(address) !== wanted.get(address))
  const removed = [...known.keys()].filter((address) => address !== '' && !wanted.has(address))
  const lines = [...before, ...(wanted.size === 0 ? [] : [BEGIN, ...wanted.values(), END]), ...after]
  const next = lines.length === 0 ? '' : `${lines.join('\n')}\n`
  if (next !== text) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await replaceFile(path, next, { mode: 0o600 })
  }
  return { updated, removed }
}

/** No terminal, no forwarding, no other command: the key is good for files below one folder. */
function lineOf(address: string, key: string, scope_dir: string): string {
  return `restrict,from="${address}",command="/usr/bin/rrsync -wo ${scope_dir}" ${key} groundplane-filesync-${address}`
}

/** Lines of others stay as they are, on both sides. */
function splitBlock(text: string): { before: string[]; block: string[]; after: string[] } {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n')
  const from = lines.indexOf(BEGIN)
  if (from === -1) return { before: lines, block: [], after: [] }
  const to = lines.indexOf(END, from)
  // Somebody edited it: what is theirs below it cannot be known.
  if (to === -1) throw new Error(`the line "${END}" is missing`)
  return { before: lines.slice(0, from), block: lines.slice(from + 1, to), after: lines.slice(to + 1) }
}

// A real PowerDNS Authoritative server with SQLite in a private folder on loopback, without root.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Resolver } from 'node:dns/promises'
import type { PowerDnsConfig } from '#src/drivers/powerdns/transport.ts'
import { type Child, createChildren } from './children.ts'
import { freeTcpPort } from './free-port.ts'
import { tempFolder } from './temp-folder.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/pdns_server'
const SCHEMA = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql'
const KEY = 'key-of-the-test-server'

export interface PowerDnsServer {
  config: PowerDnsConfig
  /** Of its DNS side. */
  dns_port: number
  /** Asks it over the wire. */
  resolver: Resolver
  /** What its API answers to a path below the server; reads when no method is named. */
  raw(path: string, method?: string, body?: unknown): Promise<unknown>
  /** Away, and back. */
  pause(): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

/** Why it cannot run here; false when it can. */
export function powerDnsMissing(): string | false {
  if (!existsSync(PROGRAM)) return 'needs pdns-server'
  if (!existsSync(SCHEMA)) return 'needs pdns-backend-sqlite3'
  return existsSync('/usr/bin/sqlite3') ? false : 'needs sqlite3'
}

const POSTGRES_BACKEND = '/usr/lib/x86_64-linux-gnu/pdns/libgpgsqlbackend.so'

export function powerDnsPostgresMissing(): string | false {
  return existsSync(POSTGRES_BACKEND) ? false : 'needs pdns-backend-pgsql'
}

/** `backend`: where it keeps its zones, in its own words; in SQLite when left out. */
export async function startPowerDns(backend?: Record<string, string>): Promise<PowerDnsServer> {
  const folder = tempFolder('gp-pdns-')
  const children = createChildren()
  const [dns_port, web_port] = [await freeTcpPort(), await freeTcpPort()]
  await writeFile(join(folder, 'pdns.conf'), settings({ folder, dns_port, web_port }, backend ?? sqliteIn(folder)))
  const url = `http://127.0.0.1:${web_port}`
  const run = async (): Promise<Child> => {
    const child = children.start(PROGRAM, [`--config-dir=${folder}`], { cwd: folder })
    await until('PowerDNS answers', async () => {
      if (child.ended()) throw new Error(`PowerDNS ended: ${child.errors()}${child.output()}`)
      return (await fetch(`${url}/api/v1/servers/localhost`, { headers: { 'x-api-key': KEY } })).ok
    })
    return child
  }
  let child = await run()
  const resolver = new Resolver({ timeout: 10_000, tries: 2 })
  resolver.setServers([`127.0.0.1:${dns_port}`])
  return {
    config: { url, api_key: KEY, timeout_ms: 10_000 },
    dns_port,
    resolver,
    async raw(path, method = 'GET', body) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await fetch(`${url}/api/v1/servers/localhost${path}`, {
        method,
        headers: { 'x-api-key': KEY },
        ...sent,
      })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    async pause() {
      await child.end('SIGTERM')
    },
    async resume() {
      child = await run()
    },
    async close() {
      await children.close()
    },
  }
}

function sqliteIn(folder: string): Record<string, string> {
  const database = join(folder, 'pdns.db')
  execFileSync('sqlite3', [database], { input: readFileSync(SCHEMA) })
  return {
    launch: 'gsqlite3',
    'gsqlite3-database': database,
    'gsqlite3-pragma-foreign-keys': 'yes',
    'gsqlite3-pragma-synchronous': '0',
  }
}

function settings(at: { folder: string; dns_port: number; web_port: number }, backend: Record<string, string>): string {
  const lines: Record<string, string | number> = {
    ...backend,
    'local-address': '127.0.0.1',
    'local-port': at.dns_port,
    'socket-dir': at.folder,
    daemon: 'no',
    guardian: 'no',
    'write-pid': 'no',
    'disable-syslog': 'yes',
    api: 'yes',
    'api-key': KEY,
    webserver: 'yes',
    'webserver-address': '127.0.0.1',
    'webserver-port': at.web_port,
    'webserver-allow-from': '127.0.0.1',
    primary: 'yes',
    secondary: 'yes',
    'allow-axfr-ips': '',
    'cache-ttl': 0,
    'query-cache-ttl': 0,
    'negquery-cache-ttl': 0,
    'zone-cache-refresh-interval': 0,
    'xfr-cycle-interval': 1,
    'security-poll-suffix': '',
  }
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

// What the DNS handlers are made of.
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import type { ServerLock } from '../server-lock.ts'
import type { ZoneContents } from './zone-contents.ts'

export interface DnsDeps extends ChangeDeps {
  server: DnsServer
  /** Held by whoever changes the server. */
  lock: ServerLock
  contents: ZoneContents
}

// What stands in for a server that the configuration does not name: every call says which setting is missing.
import { UpstreamError } from '#src/kernel/errors.ts'
import type { DhcpServer } from './dhcp-server.ts'
import type { DnsServer } from './dns-server.ts'

function refuse(upstream: 'DHCP' | 'DNS', setting: string): () => Promise<never> {
  const detail = `set ${setting}`
  return () => Promise.reject(new UpstreamError({ upstream, operation: 'any call', failure: 'not_configured', detail }))
}

export function unconfiguredDhcp(): DhcpServer {
  const refused = refuse('DHCP', 'dhcp.server')
  return {
    kind: 'none',
    limits: { lease_step_seconds: 1, max_excluded_ranges: 200, max_text_bytes: 255, single_address_range: true },
    check: refused,
    scopes: refused,
    state: refused,
    reservations: refused,
    leases: refused,
    counters: refused,
    createScope: refused,
    updateScope: refused,
    deleteScope: refused,
    changeReservations: refused,
    reserveLease: refused,
    releaseReservation: refused,
  }
}

export function unconfiguredDns(): DnsServer {
  const refused = refuse('DNS', 'dns.server')
  return {
    kind: 'none',
    limits: {
      record_types: 'any',
      conversions: { Primary: [], Secondary: [], Stub: [], Forwarder: [] },
      renamable: [],
      pausable: [],
      max_comment_bytes: 255,
    },
    check: refused,
    zones: refused,
    zone: refused,
    zoneHeads: refused,
    zoneHead: refused,
    records: refused,
    createZone: refused,
    changeZone: refused,
    convertZone: refused,
    renameZone: refused,
    deleteZone: refused,
    changeRecords: refused,
    transferZone: refused,
    notifyZone: refused,
    queryCount: refused,
  }
}

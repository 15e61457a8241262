// Row types of the tables of nodes: the registry, what a node holds, how its agent proves who it is.
import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { NullableTime, Time } from './column-types.ts'

export interface NodeTables {
  node: {
    node_id: Generated<number>
    id: string
    bmc_ip: string
    node_ip: string | null
    fqdn: string | null
    hostname: string | null
    role: 'compute' | 'management' | null
    zone: string | null
    provision_status: Generated<string>
    reported_node_ip: string | null
    reported_fqdn: string | null
    reported_hostname: string | null
    reported_since: NullableTime
    addresses: JSONColumnType<string[] | null, string | null, string | null>
    agent_address: string | null
    agent_port: number | null
    agent_version: string | null
    boot_id: string | null
    certificate: string | null
    previous_certificate: string | null
    certificate_serial: string | null
    certificate_expires_at: NullableTime
    signed_ms: Generated<number>
    enrolled_at: NullableTime
    seen_at: NullableTime
    told_online: Generated<boolean>
    health: 'healthy' | 'degraded' | 'critical' | 'unknown' | null
    health_since: NullableTime
    health_checked_at: NullableTime
    health_areas: ColumnType<object[], string | undefined, string>
    registered_by: string
    created_at: Time
    state_job_id: string | null
    state_since: ColumnType<Date, never, unknown>
    benchmark_enabled: Generated<boolean>
  }
  node_address: {
    node_id: number
    address: string
    kind: 'management' | 'storage' | 'guest' | 'public' | 'tunnel' | 'dhcp' | 'dns' | 'kvm'
    interface: string | null
    ipam_id: number | null
    dhcp_scope: string | null
    dhcp_mac: string | null
    dns_zone: string | null
    job_id: string | null
    created_at: Time
  }
  node_disk: {
    node_id: number
    disk_id: string
    name: string
    serial: string | null
    wwn: string | null
    size_bytes: number | null
    seen_at: Time
  }
  node_nic: { node_id: number; permanent_mac: string; name: string; seen_at: Time }
  enrolment_token: {
    hash: Buffer
    node_id: number
    created_by: string
    created_at: Time
    expires_at: Time
    used_at: NullableTime
  }
  revoked_certificate: { serial: string; bmc_ip: string; reason: string; revoked_at: Time }
}

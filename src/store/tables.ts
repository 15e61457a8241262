// Row types of every table, for Kysely. Each table's SQL stands in the store file of its owner.
import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { BmcInventory } from '#src/contract/bmc/machine.ts'
import type { Json, NullableTime, Time } from './column-types.ts'
import type { DecommissionTables } from './decommission-tables.ts'
import type { HaTables } from './ha-tables.ts'
import type { NodeTables } from './node-tables.ts'

export interface Tables extends DecommissionTables, HaTables, NodeTables {
  replica: { id: string; hostname: string; started_at: Time; seen_at: Time }
  setting: { name: string; value: Json<object> }
  user_account: {
    id: Generated<number>
    username: string
    password_hash: string
    role: string
    tenant_id: string | null
    created_at: Time
    disabled_at: NullableTime
    last_login_at: NullableTime
  }
  api_token: {
    id: string
    name: string
    hash: Buffer
    prefix: string
    role: string
    tenant_id: string | null
    user_id: number | null
    created_by: string
    created_at: Time
    expires_at: NullableTime
    revoked_at: NullableTime
    last_used_at: NullableTime
  }
  session: {
    id: string
    hash: Buffer
    csrf_hash: Buffer
    user_id: number | null
    token_hash: Buffer | null
    caller: Json<object>
    created_at: Time
    seen_at: Time
    expires_at: Time
    ended_at: NullableTime
  }
  ticket: { hash: Buffer; caller: Json<object>; expires_at: Time; used_at: NullableTime }
  oidc_login: { state_hash: Buffer; sealed: string; expires_at: Time }
  audit: {
    id: Generated<string>
    at: Time
    request_id: string
    correlation_id: string | null
    operation: string
    method: string
    path: string
    caller_kind: string
    caller_id: string
    username: string
    role: string | null
    tenant_id: string | null
    remote_address: string
    status: number | null
    code: string | null
  }
  idempotency: {
    caller_id: string
    key: string
    operation: string
    request_hash: Buffer
    operation_id: string
    replica_id: string
    status: number | null
    headers: JSONColumnType<Record<string, string>, string | null, string | null> | null
    body: string | null
    created_at: Time
  }
  app_event: {
    id: string
    action: string
    level: Generated<string>
    status: string
    description: Generated<string>
    error_message: Generated<string>
    progress: Generated<number>
    correlation_id: string | null
    cs_start_id: number | null
    platform_event_id: string | null
    created_at: Time
    completed_at: NullableTime
    resource_type: string
    resource_uuid: Generated<string>
    tenant_id: string | null
    user_id: number | null
    username: Generated<string>
    archived: Generated<boolean>
    replica_id: string | null
    abandoned_at: NullableTime
    related: Generated<string[]>
    audit_head: string | null
  }
  stream_event: {
    position: Generated<number>
    at: Time
    channel: string
    type: string
    tenant_id: string | null
    data: Json<object>
  }
  vm_state: {
    id: string
    name: string
    state: string
    host_id: string | null
    tenant_id: string | null
    words: Generated<string[]>
    seen_at: Time
  }
  platform_event: {
    id: string
    type: string
    level: string
    state: string
    description: string
    username: string
    account: string | null
    tenant_id: string | null
    resource_id: string | null
    resource_type: string | null
    resource_name: string | null
    parent_id: string | null
    created_at: Time
  }
  hook_delivery: { id: string; received_at: Time }
  job: {
    id: string
    parent_id: string | null
    child_name: string | null
    type: string
    job_status: Generated<string>
    status: Generated<string>
    progress: Generated<number>
    input: string
    state: string
    metadata: Json<object>
    planned_steps: Json<string[]>
    undoing: Generated<boolean>
    milestone: 'submitted' | 'following' | 'verifying' | null
    description: Generated<string>
    result: string | null
    node_ip: string | null
    resource_type: string
    resource_id: string | null
    resource_name: Generated<string>
    tenant_id: string | null
    caller: Json<object>
    executor: string | null
    wake_at: NullableTime
    epoch: Generated<number>
    cancel_requested_at: NullableTime
    point_of_no_return_at: NullableTime
    failed_step: string | null
    failure_code: string | null
    failure_reason: string | null
    upstream_message: string | null
    created_at: Time
    updated_at: Time
    finished_at: NullableTime
  }
  job_step: {
    job_id: string
    ordinal: number
    name: string
    attempt: Generated<number>
    state: string
    undo_state: string | null
    error: Generated<string>
    started_at: Time
    finished_at: NullableTime
    wait_until: NullableTime
  }
  job_signal: { job_id: string; name: string; payload: string; received_at: Time }
  job_limit: { job_id: string; key: string; most: number }
  job_event: {
    job_id: string
    seq: number
    at: Time
    level: string
    step: Generated<string>
    attempt: Generated<number>
    actor: Generated<string>
    text: string
    data: JSONColumnType<object | null, string | null, string | null>
    hash: Buffer
  }
  bmc: {
    bmc_ip: string
    port: number | null
    username: string | null
    password: string | null
    tls_mode: ColumnType<'pin' | 'ca' | 'insecure', 'pin' | 'ca' | 'insecure' | undefined, 'pin' | 'ca' | 'insecure'>
    fingerprint: string | null
    certificate: JSONColumnType<
      { subject: string; issuer: string; valid_from: string; valid_to: string },
      string | null,
      string | null
    > | null
    pinned_by: string | null
    pinned_at: NullableTime
    system_id: string | null
    created_at: Time
    updated_at: ColumnType<Date, never, unknown>
  }
  bmc_inventory: {
    id: Generated<string>
    bmc_ip: string
    collected_at: Time
    inventory: Json<Omit<BmcInventory, 'changes'>>
  }
  phone_home: {
    hash: Buffer
    job_id: string
    macs: JSONColumnType<string[] | null, string | null, string | null>
    phase: string | null
    may_restart: Generated<boolean>
    created_at: Time
    reported_at: NullableTime
  }
  boot_image: {
    hash: Buffer
    job_id: string
    file: string
    expires_at: ColumnType<Date, Date | string, Date | string>
    fetched_at: NullableTime
    fetched_by: string | null
    fetched_bytes: ColumnType<string, number | undefined, unknown>
  }
  alert_copy: {
    id: string
    type: number | null
    name: string | null
    description: string | null
    sent_at: NullableTime
    copied_at: Time
    operation_id: string
    archived_at: NullableTime
    archived_by: string | null
  }
  mtu_declaration: {
    role: 'management' | 'public' | 'storage'
    mtu: number
    bridges: JSONColumnType<string[], string | undefined, string>
    declared_by: string
    declared_at: Time
  }
  guest_network_site: {
    name: string
    network_id: string | null
    bridge: string
    kind: 'vlan' | 'vxlan'
    segment_id: number
    nic: string | null
    mtu: number | null
    created_at: Time
  }
  guest_network_job: {
    job_id: string
    network: string
    operation: 'create' | 'delete' | 'check'
    total_nodes: Generated<number>
    bridge_result: JSONColumnType<object | null, string | null | undefined, string | null>
    started_at: Time
  }
  job_outstanding: {
    job_id: string
    step: string
    text: string
    created_at: Time
    closed_at: NullableTime
    closed_by: string | null
  }
  tenant: {
    id: string
    name: string
    description: Generated<string>
    path: string | null
    network_domain: string | null
    source: 'service' | 'platform'
    stage: Generated<'creating' | 'ready' | 'create_failed'>
    is_active: Generated<boolean>
    locked_account_ids: JSONColumnType<string[] | null, string | null, string | null>
    stopped_vm_ids: JSONColumnType<string[] | null, string | null, string | null>
    account_mode: Generated<'flat' | 'departmental'>
    auth_source: Generated<'local' | 'ldap' | 'oidc' | 'saml'>
    auth_source_set_at: NullableTime
    auth_settings: JSONColumnType<object | null, string | null, string | null>
    auth_secret: string | null
    admin_account: string | null
    admin_username: string | null
    admin_password: string | null
    vlan_range_id: string | null
    vlan: string | null
    range_zone_id: string | null
    range_start_ip: string | null
    range_end_ip: string | null
    range_gateway: string | null
    range_netmask: string | null
    dedicated_at: NullableTime
    limits_set_at: NullableTime
    created_by: string
    created_at: Time
    changed_at: Time
    seen_at: NullableTime
    missing_since: NullableTime
  }
  dhcp_scope: {
    name: string
    description: Generated<string>
    network_id: string | null
    ordered: Json<object>
    peak_utilization: number | null
    created_at: Time
    updated_at: Time
  }
  dhcp_reservation: {
    scope: string
    mac: string
    ip: string
    hostname: string
    comment: Generated<string>
    enabled: Generated<boolean>
    fqdn: string | null
    dns_zone: string | null
    ptr: Generated<boolean>
    created_at: Time
    modified_at: Time
  }
  dhcp_lease: {
    id: Generated<string>
    scope: string
    mac: string
    ip: string
    hostname: string | null
    first_seen: ColumnType<Date, Date | string, Date | string>
    renewed_at: NullableTime
    expires_at: ColumnType<Date, Date | string, Date | string>
    lease_seconds: number
    state: string
    ended_at: NullableTime
  }
  dns_zone: {
    name: string
    comment: Generated<string>
    network_id: string | null
    status: Generated<string>
    transfers: Generated<number>
    created_at: Time
    updated_at: Time
  }
  dns_record: {
    id: string
    zone: string
    fqdn: string
    type: string
    content: string
    comment: string | null
    created_at: Time
    updated_at: Time
  }
  ddi_drift: {
    id: string
    kind: string
    subject: string
    scope: string | null
    zone: string | null
    expected: string | null
    actual: string | null
    message: string
    repair: string
    first_seen: Time
    seen_at: Time
  }
  ipam_site: { id: Generated<number>; slug: string; name: string; is_default: Generated<boolean> }
  ipam_role: { id: Generated<number>; slug: string; name: string }
  ipam_vlan: { id: Generated<number>; vid: number; name: string; site_id: number | null; role_id: number | null }
  ipam_prefix: {
    id: Generated<number>
    cidr: string
    site_id: number | null
    vlan_id: number | null
    role_id: number | null
    gateway: string | null
    dns_servers: Generated<string[]>
    is_pool: Generated<boolean>
    description: Generated<string>
  }
  ipam_range: { prefix_id: number; first: string; last: string }
  ipam_address: {
    id: Generated<number>
    prefix_id: number
    address: string
    status: string
    dns_name: string | null
    owner_kind: string | null
    owner_id: string | null
    description: Generated<string>
    key: string | null
    created_at: Time
  }
  cam_instance: {
    singleton: Generated<boolean>
    id: string
    name: string
    state: string
    error_message: Generated<string>
    next_action: Generated<string>
    cores: number
    memory_mb: number
    gpu_count: number
    vgpu_profile_id: Generated<string>
    recording_disk_gb: number
    network_id: string
    camera_ip: string
    zone_id: string | null
    vm_id: string | null
    vm_ip_address: string | null
    nvr_version: string | null
    admin_password: string | null
    next_admin_password: string | null
    admin_password_acknowledged: Generated<boolean>
    ca_certificate: string | null
    server_certificate: string | null
    server_key: string | null
    job_id: string | null
    created_at: Time
    changed_at: Time
  }
  cam_camera: {
    id: string
    name: string
    ip: string
    manufacturer: Generated<string>
    model: Generated<string>
    login: string
    is_h264: boolean | null
    created_at: Time
  }
  ipam_pending: { key: string; created_at: Time }
}

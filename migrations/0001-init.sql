-- The first schema: callers, events and their stream, jobs, idempotency, what watchers remember.
-- Times come from the database clock. Text that may hold secrets is encrypted (kernel/keyring.ts) before it gets here.

create table replica (
  id uuid primary key,
  hostname text not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

create table setting (
  name text primary key,
  value jsonb not null
);

-- Callers -------------------------------------------------------------------------------------------------------------

create table user_account (
  id integer generated always as identity primary key,
  username text not null,
  password_hash text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  tenant_id text,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  last_login_at timestamptz
);
create unique index user_account_username on user_account (lower(username));

create table api_token (
  id uuid primary key,
  name text not null,
  hash bytea not null unique,
  prefix text not null,
  role text not null check (role in ('viewer', 'operator', 'admin', 'cluster')),
  tenant_id text,
  user_id integer references user_account (id) on delete cascade,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

create table session (
  id uuid primary key,
  hash bytea not null unique,
  csrf_hash bytea not null,
  user_id integer references user_account (id) on delete cascade,
  caller jsonb not null,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);

create table ticket (
  hash bytea primary key,
  caller jsonb not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

create table oidc_login (
  state_hash bytea primary key,
  sealed text not null,
  expires_at timestamptz not null
);

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  request_id text not null,
  correlation_id text,
  operation text not null,
  method text not null,
  path text not null,
  caller_kind text not null,
  caller_id text not null,
  username text not null,
  role text,
  tenant_id text,
  remote_address text not null,
  status integer,
  code text
);
create index audit_at on audit (at desc, id desc);
create index audit_username on audit (username, id desc);
create index audit_operation on audit (operation, id desc);
create index audit_correlation on audit (correlation_id) where correlation_id is not null;

create table idempotency (
  caller_id text not null,
  key text not null,
  operation text not null,
  request_hash bytea not null,
  operation_id uuid not null,
  replica_id uuid not null,
  status integer,
  headers jsonb,
  body text,
  created_at timestamptz not null default now(),
  primary key (caller_id, key)
);
create index idempotency_created on idempotency (created_at);

-- Events --------------------------------------------------------------------------------------------------------------

create table app_event (
  id uuid primary key,
  action text not null,
  level text not null default 'INFO' check (level in ('INFO', 'WARN', 'ERROR')),
  status text not null check (status in ('IN_PROGRESS', 'SUCCESS', 'FAILED')),
  description text not null default '',
  error_message text not null default '',
  progress integer not null default 0 check (progress between 0 and 100),
  correlation_id text unique,
  cs_start_id bigint,
  platform_event_id text,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  resource_type text not null,
  resource_uuid text not null default '',
  tenant_id text,
  user_id integer,
  username text not null default '',
  archived boolean not null default false,
  replica_id uuid
);
create index app_event_created on app_event (archived, created_at desc, id desc);
-- Counts of the commonest question, failed operations of one kind, are answered from the index alone.
create index app_event_outcome on app_event (resource_type, status, archived, created_at desc, id desc);
create index app_event_resource on app_event (resource_type, created_at desc, id desc);
create index app_event_uuid on app_event (resource_uuid, created_at desc, id desc);
create index app_event_status on app_event (status, created_at desc, id desc);
create index app_event_action on app_event (action, created_at desc, id desc);
create index app_event_username on app_event (username, created_at desc, id desc);
create index app_event_user_id on app_event (user_id, created_at desc, id desc);
create index app_event_level on app_event (level, created_at desc, id desc);
create index app_event_tenant on app_event (tenant_id, created_at desc, id desc) where tenant_id is not null;

-- Keyword search over a million events needs trigrams. The extension is trusted since PostgreSQL 13; where it may not be
-- made, the search still answers, only slower.
do $$
begin
  create extension if not exists pg_trgm;
  execute 'create index app_event_words on app_event using gin '
    '((description || '' '' || error_message || '' '' || action || '' '' || resource_uuid || '' '' || username) gin_trgm_ops)';
exception when insufficient_privilege or undefined_file or feature_not_supported then
  raise notice 'pg_trgm is not available: keyword search reads the table';
end
$$;

-- What live streams carry, in commit order: writers take one advisory lock just before they insert, so that a row's
-- position is also its place in the order of commits, and a reader that has seen N has seen everything below N.
create table stream_event (
  position bigint generated always as identity primary key,
  at timestamptz not null default now(),
  channel text not null,
  type text not null,
  tenant_id text,
  data jsonb not null
);
create index stream_event_at on stream_event (at);

create table vm_state (
  id text primary key,
  name text not null,
  state text not null,
  host_id text,
  tenant_id text,
  seen_at timestamptz not null default now()
);

-- The platform's own events, as the watcher reads them: what application events are linked to.
create table platform_event (
  id text primary key,
  type text not null,
  level text not null,
  state text not null,
  description text not null,
  username text not null,
  account text,
  tenant_id text,
  resource_id text,
  resource_type text,
  resource_name text,
  parent_id text,
  created_at timestamptz not null
);
create index platform_event_resource on platform_event (resource_id, created_at);
create index platform_event_created on platform_event (created_at);

create table hook_delivery (
  id text primary key,
  received_at timestamptz not null default now()
);

-- Jobs ----------------------------------------------------------------------------------------------------------------

create table job (
  id uuid primary key,
  parent_id uuid references job (id),
  type text not null,
  job_status text not null default 'running' check (job_status in ('running', 'completed', 'failed')),
  status text not null default '',
  progress integer not null default 0 check (progress between 0 and 100),
  input text not null,
  state text not null,
  metadata jsonb not null default '{}',
  planned_steps jsonb not null,
  undoing boolean not null default false,
  node_ip text,
  resource_type text not null,
  resource_id text,
  resource_name text not null default '',
  tenant_id text,
  caller jsonb not null,
  executor uuid,
  epoch integer not null default 0,
  cancel_requested_at timestamptz,
  point_of_no_return_at timestamptz,
  failed_step text,
  failure_code text,
  failure_reason text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz
);
create index job_created on job (created_at desc, id desc);
create index job_running on job (job_status) where job_status = 'running';
create unique index job_one_running_per_node on job (node_ip) where job_status = 'running' and node_ip is not null;
create index job_parent on job (parent_id) where parent_id is not null;

create table job_step (
  job_id uuid not null references job (id) on delete cascade,
  ordinal integer not null,
  name text not null,
  attempt integer not null default 1,
  state text not null check (state in ('running', 'succeeded', 'failed', 'skipped', 'unverified')),
  undo_state text check (undo_state in ('running', 'undone', 'failed')),
  error text not null default '',
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (job_id, ordinal)
);

create table job_event (
  job_id uuid not null references job (id) on delete cascade,
  seq integer not null,
  at timestamptz not null default now(),
  level text not null check (level in ('INFO', 'WARN', 'ERROR', 'DESTRUCTIVE')),
  step text not null default '',
  attempt integer not null default 0,
  actor text not null default 'system',
  text text not null,
  data jsonb,
  hash bytea not null,
  primary key (job_id, seq)
);

create table job_outstanding (
  job_id uuid not null references job (id) on delete cascade,
  step text not null,
  text text not null,
  created_at timestamptz not null default now(),
  closed_at timestamptz,
  closed_by text,
  primary key (job_id, step, text)
);

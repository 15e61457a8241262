-- Nodes of the cloud, how their agents prove who they are, and tokens with which an agent joins (docs/decisions/0006).

create table node (
  -- Grows with every registration: what keyset pages run by.
  node_id integer generated always as identity primary key,
  id uuid not null unique,
  bmc_ip text not null,
  -- What a person declared; what the agent reports stands beside it and fills the gaps.
  node_ip text,
  fqdn text,
  hostname text,
  role text check (role in ('compute', 'management')),
  zone text,
  provision_status text not null default 'discovered',
  reported_node_ip text,
  reported_fqdn text,
  reported_hostname text,
  addresses jsonb,
  agent_address text,
  agent_port integer,
  agent_version text,
  boot_id text,
  -- The certificate in force, and the one before it until the agent has used the new one.
  certificate text,
  previous_certificate text,
  certificate_serial text,
  certificate_expires_at timestamptz,
  -- Time stamp of the newest signed message, in the agent's own milliseconds: older ones are replays.
  signed_ms bigint not null default 0,
  enrolled_at timestamptz,
  seen_at timestamptz,
  -- Last state that an event told; whether a node is online follows from seen_at alone.
  told_online boolean not null default false,
  registered_by text not null,
  created_at timestamptz not null default now()
);
create unique index node_bmc_ip on node (bmc_ip);
create index node_seen on node (seen_at) where told_online;

create table enrolment_token (
  hash bytea primary key,
  node_id integer not null references node (node_id) on delete cascade,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index enrolment_token_node on enrolment_token (node_id);

create table revoked_certificate (
  serial text primary key,
  bmc_ip text not null,
  reason text not null,
  revoked_at timestamptz not null default now()
);

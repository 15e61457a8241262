-- What is declared about the network of all nodes, and the guest networks that were built on them.

create table mtu_declaration (
  role text primary key check (role in ('management', 'public', 'storage')),
  mtu integer not null,
  -- Bridges that carry the role, as the nodes named them when it was declared.
  bridges jsonb not null default '[]',
  declared_by text not null,
  declared_at timestamptz not null default now()
);

create table guest_network_site (
  name text primary key,
  -- Null until the platform has made the network, and again after it has deleted it.
  network_id text unique,
  bridge text not null unique,
  kind text not null check (kind in ('vlan', 'vxlan')),
  segment_id integer not null,
  nic text,
  mtu integer,
  created_at timestamptz not null default now(),
  unique (kind, segment_id)
);

create table guest_network_job (
  job_id uuid primary key,
  network text not null,
  operation text not null check (operation in ('create', 'delete', 'check')),
  total_nodes integer not null default 0,
  bridge_result jsonb,
  started_at timestamptz not null default clock_timestamp()
);
create index guest_network_job_network on guest_network_job (network, started_at desc);

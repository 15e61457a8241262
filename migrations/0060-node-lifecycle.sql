-- What jobs find out about a node and later jobs need: which addresses it holds and who recorded them, its disks, its NICs.

-- One job of a node at a time is a limit of the jobs; a job that follows a failed one takes its place in one transaction.
drop index job_one_running_per_node;
create index job_node on job (node_ip, created_at desc) where node_ip is not null;

-- The job that moved the node to the state it is in, and when.
alter table node
  add column state_job_id uuid,
  add column state_since timestamptz not null default now(),
  -- Offered to benchmarks: as its setup asked for.
  add column benchmark_enabled boolean not null default false;

create table node_address (
  node_id integer not null references node (node_id) on delete cascade,
  -- An IP address; of the kind dns a full name.
  address text not null,
  kind text not null check (kind in ('management', 'storage', 'guest', 'public', 'tunnel', 'dhcp', 'dns', 'kvm')),
  interface text,
  -- Where it is recorded: in the address store, the DHCP server, the name server.
  ipam_id integer,
  dhcp_scope text,
  dhcp_mac text,
  dns_zone text,
  -- The job that holds it.
  job_id uuid,
  created_at timestamptz not null default now(),
  primary key (node_id, address, kind)
);

create table node_disk (
  node_id integer not null references node (node_id) on delete cascade,
  -- Serial number, else the worldwide name: what tells the disk from all others.
  disk_id text not null,
  name text not null,
  serial text,
  wwn text,
  size_bytes bigint,
  seen_at timestamptz not null default now(),
  primary key (node_id, disk_id)
);

create table node_nic (
  node_id integer not null references node (node_id) on delete cascade,
  -- As burnt in, lower case with colons: a bond lends its own to its members.
  permanent_mac text not null,
  name text not null,
  seen_at timestamptz not null default now(),
  primary key (node_id, permanent_mac)
);
create index node_nic_mac on node_nic (permanent_mac);

-- The last hash of the audit log of a job: with it, a line that was changed or removed afterwards is found.
alter table app_event add column audit_head text;

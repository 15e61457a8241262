-- BMCs: how each is reached, the certificate it must show, its credentials; what was collected of its machine; and images that
-- a BMC may fetch for one operation.

create table bmc (
  bmc_ip text primary key,
  port integer,
  -- Null: met without a record of credentials.
  username text,
  -- Encrypted (docs/decisions/0009).
  password text,
  tls_mode text not null default 'pin' check (tls_mode in ('pin', 'ca', 'insecure')),
  fingerprint text,
  certificate jsonb,
  pinned_by text,
  pinned_at timestamptz,
  system_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((username is null) = (password is null))
);

create table bmc_inventory (
  id bigint generated always as identity primary key,
  bmc_ip text not null references bmc (bmc_ip) on delete cascade,
  collected_at timestamptz not null default now(),
  inventory jsonb not null
);
create index bmc_inventory_newest on bmc_inventory (bmc_ip, collected_at desc);

create table boot_image (
  -- SHA-256 of the secret in the address.
  hash bytea primary key,
  job_id uuid not null,
  file text not null,
  expires_at timestamptz not null,
  fetched_at timestamptz,
  fetched_by text,
  fetched_bytes bigint not null default 0
);
create index boot_image_job on boot_image (job_id);

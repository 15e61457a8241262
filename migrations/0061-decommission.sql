-- Decommission and wipe: what preflights found, what wipe images reported.

create table preflight_result (
  -- Hash over what was found: names it in the request that follows.
  fingerprint text not null,
  node_id integer not null references node (node_id) on delete cascade,
  -- The answer as it was given.
  result jsonb not null,
  expires_at timestamptz not null,
  primary key (node_id, fingerprint)
);

-- One row a job whose disks are being wiped: what its report must prove.
create table wipe (
  job_id uuid primary key,
  node_id integer not null references node (node_id) on delete cascade,
  -- SHA-256 of the token in the image's answers; null: no image was started.
  token_hash bytea,
  -- Disks that must be reported, as they were recorded at admission.
  expected_disks jsonb not null,
  -- Reports are taken until then.
  open_until timestamptz not null,
  -- Our rendering of the report that counts, as JSON; empty before.
  report text not null default '',
  authenticated boolean not null default false,
  conflict boolean not null default false,
  submissions integer not null default 0,
  authenticated_submissions integer not null default 0,
  -- What a person states instead.
  confirmed jsonb,
  created_at timestamptz not null default now()
);
create index wipe_node on wipe (node_id, created_at desc);

create table wipe_submission (
  job_id uuid not null references wipe (job_id) on delete cascade,
  number integer not null,
  report text not null,
  received_at timestamptz not null default now(),
  primary key (job_id, number)
);

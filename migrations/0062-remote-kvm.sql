-- Machines that were started from an image of ours, and what they have reported: one row a job.

create table phone_home (
  -- SHA-256 of the token in the answer file.
  hash bytea primary key,
  job_id uuid not null unique,
  -- MAC addresses of which the machine must have one; null: any machine.
  macs jsonb,
  phase text,
  -- The image is disconnected: the machine may restart.
  may_restart boolean not null default false,
  created_at timestamptz not null default now(),
  reported_at timestamptz
);

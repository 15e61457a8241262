-- A job waits without a process until `wake_at`; a signal, the end of a child or a cancel take it to now.
alter table job add column child_name text;
create unique index job_child on job (parent_id, child_name);

-- A step is what its name says, whatever its place in the list of another version.
alter table job_step drop constraint job_step_pkey;
alter table job_step add primary key (job_id, name);
-- Set when the step first waits: until then it may.
alter table job_step add column wait_until timestamptz;

create table job_signal (
  job_id uuid not null references job (id) on delete cascade,
  name text not null,
  payload text not null,
  received_at timestamptz not null default now(),
  primary key (job_id, name)
);

-- The places that a job needs before it may start; gone when it has ended.
create table job_limit (
  -- Places are taken before the job is written, which says whether it waits for them.
  job_id uuid not null references job (id) on delete cascade deferrable initially deferred,
  key text not null,
  most integer not null check (most > 0),
  primary key (job_id, key)
);
create index job_limit_key on job_limit (key);

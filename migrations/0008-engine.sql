-- An event that was given up because its process fell silent; the process may still end it, late.
alter table app_event add column abandoned_at timestamptz;

-- The service hands jobs on by itself. A job without a process waits for one, until `wake_at` when that is set.
alter table job add column wake_at timestamptz;
drop schema if exists pgboss cascade;

-- Addresses that were asked of another store and whose answer is not known yet: an answer that is lost never leaks one.

create table ipam_pending (
  key text primary key,
  created_at timestamptz not null default now()
);

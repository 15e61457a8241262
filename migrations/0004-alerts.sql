-- Copies of the compute platform's alerts. The platform cannot list an alert once it is archived, so each is copied before.

create table alert_copy (
  id text primary key,
  type integer,
  name text,
  description text,
  sent_at timestamptz,
  copied_at timestamptz not null default now(),
  -- The archiving that copied it; a copy is shown only when that archiving went through.
  operation_id uuid not null,
  archived_at timestamptz,
  archived_by text
);
create index alert_copy_archived on alert_copy (sent_at desc, id) where archived_at is not null;
create index alert_copy_operation on alert_copy (operation_id, id) where archived_at is null;

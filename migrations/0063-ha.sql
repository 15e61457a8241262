-- Management nodes that fail over to each other, and what their failover daemons reported.
create table ha_member (
  node_id integer primary key references node (node_id) on delete cascade,
  -- On the cluster network: peers call it there, and its events carry it.
  address text not null unique,
  interface text not null,
  priority integer not null check (priority between 1 and 254),
  -- As its agent last saw; null: not known.
  holds_vip boolean,
  checked_at timestamptz,
  -- Public half of its file-sync key, as it was last fetched from it.
  filesync_key text,
  created_at timestamptz not null default now()
);

create table ha_event (
  id uuid primary key,
  app_event_id uuid not null,
  correlation_id text not null,
  address text not null,
  action text not null,
  status text not null check (status in ('COMPLETED', 'FAILED', 'IN_PROGRESS')),
  level text not null check (level in ('INFO', 'WARN', 'ERROR')),
  message text not null,
  -- Of the sender: the order of its events. Null where the sender counts nothing.
  counter bigint,
  occurred_at timestamptz not null,
  received_at timestamptz not null default now()
);
create unique index ha_event_counter on ha_event (address, counter);
create index ha_event_order on ha_event (address, occurred_at desc);
create index ha_event_received on ha_event (received_at);

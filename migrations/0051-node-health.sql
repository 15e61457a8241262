-- How a node is, all sources together: what `node list` shows and `node health` explains. Null until it was checked once.
alter table node
  add column health text check (health in ('healthy', 'degraded', 'critical', 'unknown')),
  add column health_since timestamptz,
  add column health_checked_at timestamptz,
  add column health_areas jsonb not null default '[]';

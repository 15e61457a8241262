-- Ids that the request of an operation named beside the thing it is about: what was done to a machine's disk or NIC stands in the
-- machine's history, too.
alter table app_event add column related text[] not null default '{}';
create index app_event_related on app_event using gin (related);

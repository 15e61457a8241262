-- What an agent reports about the node's name and address no longer counts by itself: node_ip, fqdn and hostname are the
-- confirmed values, and a report that differs waits for an admin (docs/decisions/0006). What counted so far stays.
update node
set node_ip = coalesce(node_ip, reported_node_ip),
  fqdn = coalesce(fqdn, reported_fqdn),
  hostname = coalesce(hostname, reported_hostname);
-- Since when the report differs from what is confirmed; null while it does not.
alter table node add column reported_since timestamptz;

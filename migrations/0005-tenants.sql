-- Tenants: the domains right under the platform's root, as this service knows them. A row is claimed before the platform
-- is asked to make the domain, and stays, marked, when the domain is gone.

create table tenant (
  -- UUID of the domain; chosen by us for tenants made here, so that a lost answer can be looked up.
  id text primary key,
  name text not null,
  description text not null default '',
  path text,
  network_domain text,
  source text not null check (source in ('service', 'platform')),
  stage text not null default 'ready' check (stage in ('creating', 'ready', 'create_failed')),
  is_active boolean not null default true,
  -- Accounts that were enabled when the tenant was deactivated, and its machines that ran then.
  locked_account_ids jsonb,
  stopped_vm_ids jsonb,
  account_mode text not null default 'flat' check (account_mode in ('flat', 'departmental')),
  auth_source text not null default 'local' check (auth_source in ('local', 'ldap', 'oidc', 'saml')),
  -- Null until somebody chose one: an onboarding step.
  auth_source_set_at timestamptz,
  auth_settings jsonb,
  auth_secret text,
  admin_account text,
  admin_username text,
  admin_password text,
  vlan_range_id text,
  vlan text,
  range_zone_id text,
  range_start_ip text,
  range_end_ip text,
  range_gateway text,
  range_netmask text,
  dedicated_at timestamptz,
  limits_set_at timestamptz,
  created_by text not null,
  created_at timestamptz not null default now(),
  -- Every change by this service; what the reconciler read before it is older and does not count.
  changed_at timestamptz not null default now(),
  seen_at timestamptz,
  missing_since timestamptz
);
-- Names are unique below the root; a removed domain does not keep its name.
create unique index tenant_name on tenant (lower(name)) where missing_since is null;
create unique index tenant_range on tenant (vlan_range_id) where vlan_range_id is not null and missing_since is null;

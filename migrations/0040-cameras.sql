-- The NVR: one at most. Its virtual machine, its credentials, and the cameras that we configured on it.

create table cam_instance (
  -- There is one row or none.
  singleton boolean primary key default true check (singleton),
  id text not null unique,
  name text not null,
  state text not null check (state in (
    'provisioning', 'configuring', 'running', 'stopped', 'restarting', 'unreachable', 'failed', 'deleting')),
  error_message text not null default '',
  -- What a person can do about it.
  next_action text not null default '',
  -- As ordered.
  cores integer not null,
  memory_mb integer not null,
  gpu_count integer not null,
  vgpu_profile_id text not null default '',
  recording_disk_gb integer not null,
  network_id text not null,
  -- Of the first camera.
  camera_ip text not null,
  -- As found.
  zone_id text,
  vm_id text,
  vm_ip_address text,
  nvr_version text,
  -- Encrypted.
  admin_password text,
  admin_password_acknowledged boolean not null default false,
  -- The CA that we made for this instance, its server's certificate, and the key of that, encrypted. PEM.
  ca_certificate text,
  server_certificate text,
  server_key text,
  -- The job that provisions, changes or deletes it.
  job_id text,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);

create table cam_camera (
  id text primary key,
  name text not null,
  ip text not null,
  manufacturer text not null default '',
  model text not null default '',
  -- Encrypted: user, password, and the stream addresses that hold them.
  login text not null,
  -- Null: nobody could tell; then the live view is re-encoded.
  is_h264 boolean,
  created_at timestamptz not null default now()
);

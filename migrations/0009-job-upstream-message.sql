-- What the upstream of a failed step itself said, cleaned: for those who run the platform.
alter table job add column upstream_message text;

-- A session that was opened with an API token has the rights of that token and ends with it.
alter table session add column token_hash bytea;
create index session_token_hash on session (token_hash) where token_hash is not null;

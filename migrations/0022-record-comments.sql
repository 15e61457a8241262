-- Null: no comment was given here, so the one on the server counts. Empty: there is none, whatever the server has for the set
-- of the record.
alter table dns_record alter column comment drop default, alter column comment drop not null;
update dns_record set comment = null where comment = '';

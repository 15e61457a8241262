-- Jobs own their answers: how far they are, what they were admitted as, and what they hand to those who asked.
alter table job add column milestone text check (milestone in ('submitted', 'following', 'verifying'));
alter table job add column description text not null default '';
alter table job add column result text;

update job set description = status where description = '';
-- The event of a job names no process: any replica may carry the job to its end.
update app_event set replica_id = null where status = 'IN_PROGRESS' and correlation_id in (select id::text from job);

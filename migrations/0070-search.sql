-- What a virtual machine is found by besides its name and id: its display name, the addresses and MACs of its NICs.
alter table vm_state add column words text[] not null default '{}';

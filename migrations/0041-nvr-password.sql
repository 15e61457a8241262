-- A password that is being set on the NVR: written before the NVR is asked, so that none is lost when the answer is.

alter table cam_instance add column next_admin_password text;

-- update_process_killed: a process life that ended without recording its end.
--   :process_id  whose
UPDATE process SET ending = 'killed' WHERE id = :process_id AND ending = 'unknown';

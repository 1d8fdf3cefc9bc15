-- update_process_ended: the clean end of a process life.
--   :process_id  whose
--   :ended_ns    when recording ended
UPDATE process SET ended_ns = :ended_ns, ending = 'clean' WHERE id = :process_id;

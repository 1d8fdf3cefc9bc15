-- update_process_dropped: how many records of a process were lost so far.
--   :process_id     whose
--   :dropped_count  records lost to full buffers
UPDATE process SET dropped_count = :dropped_count WHERE id = :process_id;

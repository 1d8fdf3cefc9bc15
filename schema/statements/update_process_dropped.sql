-- update_process_dropped: how many records of a process were lost so far, at least.
--   :process_id     whose
--   :dropped_count  records lost to full buffers
UPDATE process SET dropped_count = max(dropped_count, :dropped_count)
WHERE id = :process_id;

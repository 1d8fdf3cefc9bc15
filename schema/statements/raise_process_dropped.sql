-- raise_process_dropped: records lost by a process that may have told of more before.
--   :process_id     whose
--   :dropped_count  how many at least
UPDATE process SET dropped_count = max(dropped_count, :dropped_count)
WHERE id = :process_id;

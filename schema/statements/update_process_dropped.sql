-- update_process_dropped: how many records of a process were dropped so far, at least.
--   :process_id      whose
--   :dropped_count   records that full buffers did not take
--   :unsummed_count  of those, in no sum either
UPDATE process SET dropped_count = max(dropped_count, :dropped_count),
                   unsummed_count = max(unsummed_count, :unsummed_count)
WHERE id = :process_id;

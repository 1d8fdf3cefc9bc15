-- _clock_offset: what to add to a process's monotonic times to get Unix time.
--
-- One row per process; its first snapshot of the two clocks is used.
--   process_id  INTEGER  process.id
--   offset_ns   INTEGER  unix_ns - monotonic_ns
CREATE VIEW _clock_offset AS
SELECT process_id, unix_ns - monotonic_ns AS offset_ns
FROM clock
WHERE id IN (SELECT min(id) FROM clock GROUP BY process_id);

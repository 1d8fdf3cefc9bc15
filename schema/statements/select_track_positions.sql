-- select_track_positions: how far the records of a process's threads are in the file.
--   :process_id  whose
-- Rows: number of the thread, position in its ring.
SELECT number, ring_position
FROM track
WHERE process_id = :process_id AND number IS NOT NULL;

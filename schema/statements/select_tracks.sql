-- select_tracks: the threads that a process has in the file.
--   :process_id  whose
-- Rows: number, row id, up to where the records of its ring are in the file.
SELECT number, id, ring_position
FROM track
WHERE process_id = :process_id AND number IS NOT NULL;

-- select_track_ids: the threads that a process has in the file.
--   :process_id  whose
-- Rows: number, row id.
SELECT number, id FROM track WHERE process_id = :process_id AND number IS NOT NULL;

-- insert_track: a thread of a process.
--   :process_id :tid :name  columns of `track`
-- One row: the new row id.
INSERT INTO track (process_id, tid, name) VALUES (:process_id, :tid, :name)
RETURNING id;

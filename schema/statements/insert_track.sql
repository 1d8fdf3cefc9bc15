-- insert_track: a thread of a process.
--   :process_id :number :tid :name  columns of `track`
-- One row: the new row id.
INSERT INTO track (process_id, number, tid, name)
VALUES (:process_id, :number, :tid, :name)
RETURNING id;

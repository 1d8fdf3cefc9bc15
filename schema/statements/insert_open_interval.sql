-- insert_open_interval: an interval that was open when recording ended.
--   :track_id ... :batch  columns of `open_interval`
INSERT INTO open_interval (track_id, stage_id, start_ns, depth, step, iterator_id, batch)
VALUES (:track_id, :stage_id, :start_ns, :depth, :step, :iterator_id, :batch);

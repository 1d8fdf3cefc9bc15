-- insert_interval: one interval; insert_interval_50 is the fast way for many.
--   ?1 track_id  ?2 stage_id  ?3 start_ns  ?4 dur_ns  ?5 depth  ?6 step
--   ?7 iterator_id  ?8 batch  ?9 cpu_ns  columns of `interval`
INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id,
                      batch, cpu_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- insert_counter: one counted value.
--   ?1 track_id  ?2 name_id  ?3 at_ns  ?4 value  ?5 step  ?6 iterator_id  ?7 batch
--   columns of `counter`
INSERT INTO counter (track_id, name_id, at_ns, value, step, iterator_id, batch)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- insert_counter_total: sums of a counter.
--   :track_id :name_id :iterator_id :calls :value  columns of `counter_total`
INSERT INTO counter_total (track_id, name_id, iterator_id, calls, value)
VALUES (:track_id, :name_id, :iterator_id, :calls, :value);

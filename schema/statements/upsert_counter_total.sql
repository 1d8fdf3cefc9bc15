-- upsert_counter_total: sums of a counter.
--   :track_id :name_id :iterator_id :calls :value :node  columns of `counter_total`
-- A :node that is there already gets the new sums; of NULL there may be any number.
INSERT INTO counter_total (track_id, name_id, iterator_id, calls, value, node)
VALUES (:track_id, :name_id, :iterator_id, :calls, :value, :node)
ON CONFLICT (track_id, node) DO UPDATE SET
    calls = excluded.calls,
    value = excluded.value;

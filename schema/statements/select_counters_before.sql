-- select_counters_before: as select_intervals_before, of counted values.
--   :below :count  as there
-- Rows: columns of `counter`, the number of the pass, at_ns.
SELECT counter.id, track_id, name_id, value, step, iterator_id, batch, iterator.number,
       at_ns
FROM counter
LEFT JOIN iterator ON iterator.id = counter.iterator_id
WHERE counter.id < :below
ORDER BY counter.id DESC
LIMIT :count;

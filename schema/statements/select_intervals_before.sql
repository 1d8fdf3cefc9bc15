-- select_intervals_before: intervals from the last to the first, a part of them.
--   :below  rows with a smaller id
--   :count  how many at most
-- Rows: columns of `interval`, the number of the pass.
SELECT interval.id, track_id, stage_id, start_ns, dur_ns, step, iterator_id, batch, cpu_ns,
       iterator.number
FROM interval
LEFT JOIN iterator ON iterator.id = interval.iterator_id
WHERE interval.id < :below
ORDER BY interval.id DESC
LIMIT :count;

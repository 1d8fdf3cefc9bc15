-- delete_intervals: neighbours that are in `interval_total` now.
--   ?1 ?2  the least and the greatest of their row ids
DELETE FROM interval WHERE id >= ?1 AND id <= ?2;

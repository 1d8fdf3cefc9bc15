-- delete_counters: neighbours that are in `counter_total` now.
--   ?1 ?2  the least and the greatest of their row ids
DELETE FROM counter WHERE id >= ?1 AND id <= ?2;

-- upsert_environment: a fact about a process; the last value of a key wins.
--   :process_id :key :value  columns of `environment`
INSERT INTO environment (process_id, key, value) VALUES (:process_id, :key, :value)
ON CONFLICT (process_id, key) DO UPDATE SET value = excluded.value;

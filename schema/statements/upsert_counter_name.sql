-- upsert_counter_name: the row of a name, made where it is missing.
--   :name  the name
-- One row: the row id.
INSERT INTO counter_name (name) VALUES (:name)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING id;

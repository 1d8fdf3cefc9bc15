-- update_track_name: a thread that was renamed.
--   :track_id  whose
--   :name      its new name
UPDATE track SET name = :name WHERE id = :track_id;

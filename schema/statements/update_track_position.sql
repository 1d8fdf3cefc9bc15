-- update_track_position: how far the records of a thread are in the file.
--   :track_id       which
--   :ring_position  position in its ring up to which they are written
UPDATE track SET ring_position = :ring_position WHERE id = :track_id;

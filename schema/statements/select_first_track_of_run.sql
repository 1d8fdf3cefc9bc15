-- select_first_track_of_run: where the rows of a run begin in a file.
--   :process_id  a process of the run
-- One row: the smallest id of a track of the run; NULL where it has none.
SELECT min(track.id)
FROM track
JOIN process ON process.id = track.process_id
WHERE process.run_id = (SELECT run_id FROM process WHERE id = :process_id);

-- select_newest_run: the run that was begun last in this file, for a training that goes
-- on where it stopped.
-- One row or none: job, attempt (1 where it is not known).
SELECT job, coalesce(attempt, 1) FROM run ORDER BY started_unix_ns DESC, id DESC LIMIT 1;

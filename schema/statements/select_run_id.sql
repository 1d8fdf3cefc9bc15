-- select_run_id: the row of a run.
--   :uuid  identity of the attempt
-- One row or none: the row id.
SELECT id FROM run WHERE uuid = :uuid;

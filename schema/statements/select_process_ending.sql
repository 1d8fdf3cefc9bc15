-- select_process_ending: how a process life ended, as far as the file knows.
--   :process_id  which
-- One row: 'clean', 'killed' or 'unknown'.
SELECT ending FROM process WHERE id = :process_id;

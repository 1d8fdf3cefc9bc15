-- select_process_id: a process life that the file may know already.
--   :uuid  of the life
-- No row or one: the row id.
SELECT id FROM process WHERE uuid = :uuid;

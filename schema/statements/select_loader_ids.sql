-- select_loader_ids: the loaders that a process has in the file.
--   :process_id  whose
-- Rows: number, row id.
SELECT number, id FROM loader WHERE process_id = :process_id;

-- select_iterator_ids: the passes over loaders that a process has in the file.
--   :process_id  whose
-- Rows: number, row id.
SELECT iterator.number, iterator.id
FROM iterator
JOIN loader ON loader.id = iterator.loader_id
WHERE loader.process_id = :process_id;

-- update_process_loader: the loader a worker works for, known once its row is there.
--   :process_id  the worker
--   :loader_id   row of `loader`
UPDATE process SET loader_id = :loader_id WHERE id = :process_id;

-- upsert_loader: a DataLoader object, once for each process that writes about it.
--   :process_id ... :sampler_class  columns of `loader`
-- One row: the row id.
INSERT INTO loader (process_id, number, name, created_at, dataset_class, num_workers,
                    batch_size, prefetch_factor, persistent_workers, pin_memory, in_order,
                    start_method, sampler_class)
VALUES (:process_id, :number, :name, :created_at, :dataset_class, :num_workers,
        :batch_size, :prefetch_factor, :persistent_workers, :pin_memory, :in_order,
        :start_method, :sampler_class)
ON CONFLICT (process_id, number) DO UPDATE SET
    name = excluded.name, created_at = excluded.created_at,
    dataset_class = excluded.dataset_class, num_workers = excluded.num_workers,
    batch_size = excluded.batch_size, prefetch_factor = excluded.prefetch_factor,
    persistent_workers = excluded.persistent_workers, pin_memory = excluded.pin_memory,
    in_order = excluded.in_order, start_method = excluded.start_method,
    sampler_class = excluded.sampler_class
RETURNING id;

-- insert_process: one process life, its end not known yet.
--   :run_id ... :started_ns  columns of `process`
-- One row: the new row id.
INSERT INTO process (run_id, uuid, parent_uuid, role, rank, world_size, worker_id, pid,
                     start_method, host, boot_id, started_ns)
VALUES (:run_id, :uuid, :parent_uuid, :role, :rank, :world_size, :worker_id, :pid,
        :start_method, :host, :boot_id, :started_ns)
RETURNING id;

-- upsert_iterator: a pass over a loader as far as it is known by now.
--   :loader_id ... :exhausted  columns of `iterator`
-- One row: the row id.
INSERT INTO iterator (loader_id, number, epoch, phase, started_ns, first_wait_ns, ended_ns,
                      exhausted)
VALUES (:loader_id, :number, :epoch, :phase, :started_ns, :first_wait_ns, :ended_ns,
        :exhausted)
ON CONFLICT (loader_id, number) DO UPDATE SET
    epoch = excluded.epoch, phase = excluded.phase, started_ns = excluded.started_ns,
    first_wait_ns = excluded.first_wait_ns, ended_ns = excluded.ended_ns,
    exhausted = excluded.exhausted
RETURNING id;

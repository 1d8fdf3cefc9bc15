-- upsert_interval_total: a node of the tree of sums.
--   :track_id :parent_id :stage_id :iterator_id :calls :total_ns :cpu_ns :cpu_wall_ns
--   :first_ns :last_ns :node  columns of `interval_total`
-- One row: its row id. A :node that is there already gets the new sums; of NULL there may
-- be any number.
INSERT INTO interval_total (track_id, parent_id, stage_id, iterator_id, calls, total_ns,
                            cpu_ns, cpu_wall_ns, first_ns, last_ns, node)
VALUES (:track_id, :parent_id, :stage_id, :iterator_id, :calls, :total_ns, :cpu_ns,
        :cpu_wall_ns, :first_ns, :last_ns, :node)
ON CONFLICT (track_id, node) DO UPDATE SET
    calls = excluded.calls,
    total_ns = excluded.total_ns,
    cpu_ns = excluded.cpu_ns,
    cpu_wall_ns = excluded.cpu_wall_ns,
    first_ns = excluded.first_ns,
    last_ns = excluded.last_ns
RETURNING id;

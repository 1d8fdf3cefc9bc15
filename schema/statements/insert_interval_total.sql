-- insert_interval_total: a node of the tree of sums.
--   :track_id :parent_id :stage_id :iterator_id :calls :total_ns :cpu_ns :cpu_wall_ns
--   :first_ns :last_ns  columns of `interval_total`
-- One row: the new row id.
INSERT INTO interval_total (track_id, parent_id, stage_id, iterator_id, calls, total_ns,
                            cpu_ns, cpu_wall_ns, first_ns, last_ns)
VALUES (:track_id, :parent_id, :stage_id, :iterator_id, :calls, :total_ns, :cpu_ns,
        :cpu_wall_ns, :first_ns, :last_ns)
RETURNING id;

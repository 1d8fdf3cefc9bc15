-- insert_cpu_usage: what a process or one of its threads has used of the CPUs so far.
--   :process_id :track_id :at_ns :cpu_ns :queued_ns  columns of `cpu_usage`
INSERT INTO cpu_usage (process_id, track_id, at_ns, cpu_ns, queued_ns)
VALUES (:process_id, :track_id, :at_ns, :cpu_ns, :queued_ns);

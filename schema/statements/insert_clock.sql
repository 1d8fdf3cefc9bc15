-- insert_clock: a reading of both clocks at one instant.
--   :process_id :monotonic_ns :unix_ns  columns of `clock`
INSERT INTO clock (process_id, monotonic_ns, unix_ns)
VALUES (:process_id, :monotonic_ns, :unix_ns);

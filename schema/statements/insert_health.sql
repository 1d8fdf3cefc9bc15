-- insert_health: something that went wrong while recording.
--   :process_id :at_ns :code :text  columns of `health`
INSERT INTO health (process_id, at_ns, code, text)
VALUES (:process_id, :at_ns, :code, :text);

-- insert_health: something that went wrong while recording; once, however often it is told.
--   :process_id :at_ns :code :text  columns of `health`
INSERT INTO health (process_id, at_ns, code, text)
SELECT :process_id, :at_ns, :code, :text
WHERE NOT EXISTS (
    SELECT 1
    FROM health
    WHERE process_id = :process_id AND at_ns = :at_ns AND code = :code AND text = :text
);

-- update_interval_total: adds to the sums of a node.
--   :id                                      which
--   :calls :total_ns :cpu_ns :cpu_wall_ns    what is added; :cpu_ns NULL: none measured
--   :first_ns :last_ns                       when that was; NULL where :calls is 0
UPDATE interval_total
SET calls = calls + :calls,
    total_ns = total_ns + :total_ns,
    cpu_ns = CASE WHEN :cpu_ns IS NULL THEN cpu_ns ELSE coalesce(cpu_ns, 0) + :cpu_ns END,
    cpu_wall_ns = cpu_wall_ns + :cpu_wall_ns,
    first_ns = coalesce(min(first_ns, :first_ns), first_ns, :first_ns),
    last_ns = coalesce(max(last_ns, :last_ns), last_ns, :last_ns)
WHERE id = :id;

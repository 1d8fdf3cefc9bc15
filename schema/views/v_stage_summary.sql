-- v_stage_summary: how often each stage ran and how long it took.
--
-- One row per (run, phase, loader, rank, role, stage), of all intervals, those that a run
-- left out beyond its size limit included (but for min_ns and max_ns). Workers overlap the training
-- process: never add the two roles up.
--   run       TEXT     uuid of the run
--   phase     TEXT     as in v_interval
--   loader    TEXT     name of the loader, NULL outside any loop
--   rank      INTEGER  global rank
--   role      TEXT     'main', 'worker' or 'child'
--   stage     TEXT     what was being done
--   calls     INTEGER  number of intervals
--   total_ns  INTEGER  sum of their lengths, children included
--   mean_ns   REAL     total_ns / calls
--   min_ns    INTEGER  shortest
--   max_ns    INTEGER  longest
--   cpu_ns    INTEGER  sum of CPU time where measured, NULL where nowhere
CREATE VIEW v_stage_summary AS
SELECT run.uuid AS run,
       _iterator.phase AS phase,
       _iterator.loader AS loader,
       process.rank AS rank,
       process.role AS role,
       stage.name AS stage,
       sum(summed.calls) AS calls,
       sum(summed.total_ns) AS total_ns,
       sum(summed.total_ns) * 1.0 / sum(summed.calls) AS mean_ns,
       min(summed.min_ns) AS min_ns,
       max(summed.max_ns) AS max_ns,
       sum(summed.cpu_ns) AS cpu_ns
FROM (
    -- grouped before any name is joined: an order of magnitude fewer joins
    SELECT track_id, stage_id, iterator_id, count(id) AS calls, sum(dur_ns) AS total_ns,
           min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, sum(cpu_ns) AS cpu_ns
    FROM interval
    GROUP BY track_id, stage_id, iterator_id
    UNION ALL
    SELECT track_id, stage_id, iterator_id, sum(calls), sum(total_ns), NULL, NULL,
           sum(cpu_ns)
    FROM interval_total
    GROUP BY track_id, stage_id, iterator_id
    HAVING sum(calls) > 0
) AS summed
JOIN stage ON stage.id = summed.stage_id
JOIN track ON track.id = summed.track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN _iterator ON _iterator.iterator_id = summed.iterator_id
GROUP BY run.id, _iterator.phase, _iterator.loader, process.rank, process.role, stage.id;

-- v_counter_rate: what was counted, in total and per second of its loop.
--
-- One row per (run, phase, loader, rank, counter). The rate is a total over a total,
-- never a mean of rates; the seconds are the waits and bodies of the loop.
--   run       TEXT     uuid of the run
--   phase     TEXT     as in v_interval
--   loader    TEXT     name of the loader
--   rank      INTEGER  global rank
--   counter   TEXT     what was counted
--   total     REAL     sum of the counted values
--   loop_ns   INTEGER  summed waits and bodies of the loop
--   per_s     REAL     total per second, NULL without such time
CREATE VIEW v_counter_rate AS
SELECT counted.run AS run,
       counted.phase AS phase,
       counted.loader AS loader,
       counted.rank AS rank,
       counted.counter AS counter,
       counted.total AS total,
       looped.loop_ns AS loop_ns,
       counted.total * 1e9 / nullif(looped.loop_ns, 0) AS per_s
FROM (
    SELECT run.uuid AS run, _iterator.phase AS phase, _iterator.loader AS loader,
           process.rank AS rank, counter_name.name AS counter, sum(counter.value) AS total
    FROM (SELECT track_id, name_id, iterator_id, value FROM counter
          UNION ALL
          SELECT track_id, name_id, iterator_id, value FROM counter_total) AS counter
    JOIN counter_name ON counter_name.id = counter.name_id
    JOIN track ON track.id = counter.track_id
    JOIN process ON process.id = track.process_id
    JOIN run ON run.id = process.run_id
    LEFT JOIN _iterator ON _iterator.iterator_id = counter.iterator_id
    GROUP BY run.id, _iterator.phase, _iterator.loader, process.rank, counter_name.id
) AS counted
LEFT JOIN (
    SELECT run, phase, loader, rank, sum(total_ns) AS loop_ns
    FROM v_stage_summary
    WHERE stage IN ('loader', 'step')
      AND role <> 'worker'
    GROUP BY run, phase, loader, rank
) AS looped
  ON looped.run = counted.run AND looped.rank = counted.rank
 AND coalesce(looped.phase, '') = coalesce(counted.phase, '')
 AND coalesce(looped.loader, '') = coalesce(counted.loader, '');

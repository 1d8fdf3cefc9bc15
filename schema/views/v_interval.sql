-- v_interval: every interval with its names.
--
-- One row per interval.
--   interval_id    INTEGER  interval.id
--   run            TEXT     uuid of the run
--   role           TEXT     'main', 'worker' or 'child'
--   rank           INTEGER  global rank
--   worker         INTEGER  worker number in its loader, NULL unless a worker
--   pid            INTEGER  process id
--   track          TEXT     thread name
--   stage          TEXT     what was being done
--   start_ns       INTEGER  begin, CLOCK_MONOTONIC
--   start_unix_ns  INTEGER  begin, Unix time
--   dur_ns         INTEGER  length, children included
--   cpu_ns         INTEGER  CPU time, NULL where not measured
--   depth          INTEGER  enclosing intervals
--   phase          TEXT     'train', 'evaluation', 'before-training', a name the user
--                           gave, 'unused', 'unknown'; NULL outside any loop
--   loader         TEXT     name of the loader, NULL outside any loop
--   epoch          INTEGER  pass over that loader, from 0
--   step           INTEGER  training steps done before, NULL in workers
--   iterator_id    INTEGER  iterator.id
--   batch          INTEGER  batch of the pass, from 0
CREATE VIEW v_interval AS
SELECT interval.id AS interval_id,
       run.uuid AS run,
       process.role AS role,
       process.rank AS rank,
       process.worker_id AS worker,
       process.pid AS pid,
       track.name AS track,
       stage.name AS stage,
       interval.start_ns AS start_ns,
       interval.start_ns + _clock_offset.offset_ns AS start_unix_ns,
       interval.dur_ns AS dur_ns,
       interval.cpu_ns AS cpu_ns,
       interval.depth AS depth,
       _iterator.phase AS phase,
       _iterator.loader AS loader,
       _iterator.epoch AS epoch,
       interval.step AS step,
       interval.iterator_id AS iterator_id,
       interval.batch AS batch
FROM interval
JOIN stage ON stage.id = interval.stage_id
JOIN track ON track.id = interval.track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN _clock_offset ON _clock_offset.process_id = process.id
LEFT JOIN _iterator ON _iterator.iterator_id = interval.iterator_id;

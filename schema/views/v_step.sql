-- v_step: every turn of every loop over a loader: the wait for a batch and its use.
--
-- One row per batch delivered to a training process. With gradient accumulation several
-- turns share one `step`.
--   run           TEXT     uuid of the run
--   rank          INTEGER  global rank
--   phase         TEXT     as in v_interval
--   loader        TEXT     name of the loader
--   epoch         INTEGER  pass over that loader, from 0
--   iterator_id   INTEGER  iterator.id
--   batch         INTEGER  batch of the pass, from 0
--   step          INTEGER  training steps done before this turn
--   start_ns      INTEGER  when the wait began
--   loader_ns     INTEGER  wait for the batch
--   step_ns       INTEGER  all the loop body did with it, NULL if it did not finish
--   unpack_ns     INTEGER  of step_ns: stage 'unpack', NULL where it did not run
--   h2d_ns        INTEGER  of step_ns: stage 'h2d'
--   forward_ns    INTEGER  of step_ns: stage 'forward'
--   loss_ns       INTEGER  of step_ns: stage 'loss'
--   backward_ns   INTEGER  of step_ns: stage 'backward'
--   optimizer_ns  INTEGER  of step_ns: stage 'optimizer'
--   other_ns      INTEGER  of step_ns: everything else
CREATE VIEW v_step AS
SELECT run.uuid AS run,
       process.rank AS rank,
       _iterator.phase AS phase,
       _iterator.loader AS loader,
       _iterator.epoch AS epoch,
       turn.iterator_id AS iterator_id,
       turn.batch AS batch,
       turn.step AS step,
       turn.start_ns AS start_ns,
       turn.loader_ns AS loader_ns,
       turn.step_ns AS step_ns,
       turn.unpack_ns AS unpack_ns,
       turn.h2d_ns AS h2d_ns,
       turn.forward_ns AS forward_ns,
       turn.loss_ns AS loss_ns,
       turn.backward_ns AS backward_ns,
       turn.optimizer_ns AS optimizer_ns,
       turn.step_ns - coalesce(turn.unpack_ns, 0) - coalesce(turn.h2d_ns, 0)
           - coalesce(turn.forward_ns, 0) - coalesce(turn.loss_ns, 0)
           - coalesce(turn.backward_ns, 0) - coalesce(turn.optimizer_ns, 0) AS other_ns
FROM (
    SELECT interval.track_id AS track_id,
           interval.iterator_id AS iterator_id,
           interval.batch AS batch,
           min(interval.step) AS step,
           min(interval.start_ns) FILTER (WHERE stage.name = 'loader') AS start_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'loader') AS loader_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'step') AS step_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'unpack') AS unpack_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'h2d') AS h2d_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'forward') AS forward_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'loss') AS loss_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'backward') AS backward_ns,
           sum(interval.dur_ns) FILTER (WHERE stage.name = 'optimizer') AS optimizer_ns
    FROM interval
    JOIN stage ON stage.id = interval.stage_id
    WHERE interval.iterator_id IS NOT NULL
      AND stage.name IN ('loader', 'step', 'unpack', 'h2d', 'forward', 'loss',
                         'backward', 'optimizer')
    GROUP BY interval.track_id, interval.iterator_id, interval.batch
) AS turn
JOIN track ON track.id = turn.track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
JOIN _iterator ON _iterator.iterator_id = turn.iterator_id
WHERE process.role <> 'worker'
  AND turn.loader_ns IS NOT NULL;

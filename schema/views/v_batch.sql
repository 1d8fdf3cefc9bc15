-- v_batch: the life of every batch, from its index to the training loop.
--
-- One row per (pass, batch). In a file read alone the other side's columns are NULL.
--   run           TEXT     uuid of the run
--   rank          INTEGER  global rank
--   phase         TEXT     as in v_interval
--   loader        TEXT     name of the loader
--   epoch         INTEGER  pass over that loader, from 0
--   iterator_id   INTEGER  iterator.id
--   batch         INTEGER  batch of the pass, from 0
--   worker        INTEGER  worker that made it, NULL: the training process itself
--   put_ns        INTEGER  its index was handed to the worker, CLOCK_MONOTONIC
--   started_ns    INTEGER  the worker began to fetch it
--   read_ns       INTEGER  its samples were read
--   fetched_ns    INTEGER  collated too
--   sending_ns    INTEGER  the worker's sender thread began with it
--   sent_ns       INTEGER  pickled and copied by that thread
--   receiving_ns  INTEGER  the training process began to take it over
--   received_ns   INTEGER  taken over
--   pinned_ns     INTEGER  copied to page-locked memory, NULL: it was not
--   asked_ns      INTEGER  the loop began to wait for it
--   delivered_ns  INTEGER  handed to the loop
--   waited_ns     INTEGER  how long the loop waited for it
--   used_ns       INTEGER  the loop was done with it, NULL: its body did not finish
CREATE VIEW v_batch AS
SELECT run.uuid AS run,
       max(process.rank) AS rank,
       _iterator.phase AS phase,
       _iterator.loader AS loader,
       _iterator.epoch AS epoch,
       interval.iterator_id AS iterator_id,
       interval.batch AS batch,
       max(process.worker_id) AS worker,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'put_index') AS put_ns,
       min(interval.start_ns)
           FILTER (WHERE stage.name = 'fetch') AS started_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'dataset') AS read_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'fetch') AS fetched_ns,
       min(interval.start_ns)
           FILTER (WHERE stage.name = 'send') AS sending_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'send') AS sent_ns,
       min(interval.start_ns)
           FILTER (WHERE stage.name = 'receive') AS receiving_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'receive') AS received_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'pin') AS pinned_ns,
       min(interval.start_ns)
           FILTER (WHERE stage.name = 'loader') AS asked_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'loader') AS delivered_ns,
       sum(interval.dur_ns) FILTER (WHERE stage.name = 'loader') AS waited_ns,
       max(interval.start_ns + interval.dur_ns)
           FILTER (WHERE stage.name = 'step') AS used_ns
FROM interval
JOIN stage ON stage.id = interval.stage_id
JOIN track ON track.id = interval.track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
JOIN _iterator ON _iterator.iterator_id = interval.iterator_id
WHERE stage.name IN ('put_index', 'fetch', 'dataset', 'send', 'receive', 'pin', 'loader',
                     'step')
  AND interval.batch IS NOT NULL
GROUP BY run.id, interval.iterator_id, interval.batch;

-- v_loader_wait: every wait for a batch and what was going on with that batch meanwhile.
--
-- One row per batch delivered to a training process. The six parts add up to wait_ns.
-- They go by where the batch was; `mt-analyze report` also says what the waiting thread
-- itself did, and which stage its worker was in.
--   run            TEXT     uuid of the run
--   rank           INTEGER  global rank
--   phase          TEXT     as in v_interval
--   loader         TEXT     name of the loader
--   epoch          INTEGER  pass over that loader, from 0
--   iterator_id    INTEGER  iterator.id
--   batch          INTEGER  the batch waited for
--   worker         INTEGER  worker that made it, NULL: the training process itself
--   start_ns       INTEGER  when the wait began, CLOCK_MONOTONIC
--   wait_ns        INTEGER  how long it lasted
--   in_earlier_ns  INTEGER  of wait_ns: its worker was busy with an earlier batch
--   in_idle_ns     INTEGER  of wait_ns: its worker was starting or had not got its index
--   in_fetch_ns    INTEGER  of wait_ns: the batch was being fetched
--   in_send_ns     INTEGER  of wait_ns: fetched, and being or waiting to be sent
--   in_receive_ns  INTEGER  of wait_ns: sent, and not yet handed over
--   other_ns       INTEGER  of wait_ns: not known, or of the training process itself
CREATE VIEW v_loader_wait AS
SELECT run, rank, phase, loader, epoch, iterator_id, batch, worker, start_ns, wait_ns,
       in_earlier_ns, in_idle_ns, in_fetch_ns, in_send_ns, in_receive_ns,
       wait_ns - in_earlier_ns - in_idle_ns - in_fetch_ns - in_send_ns - in_receive_ns
           AS other_ns
FROM (
    SELECT run, rank, phase, loader, epoch, iterator_id, batch, worker, start_ns, wait_ns,
           coalesce(max(0, min(delivered_ns, free_ns) - start_ns), 0) AS in_earlier_ns,
           iif(worker IS NULL, 0,
               coalesce(max(0, min(delivered_ns, started_ns)
                               - max(start_ns, coalesce(free_ns, start_ns))), 0))
               AS in_idle_ns,
           coalesce(max(0, min(delivered_ns, fetched_ns) - max(start_ns, started_ns)), 0)
               AS in_fetch_ns,
           coalesce(max(0, min(delivered_ns, sent_ns) - max(start_ns, fetched_ns)), 0)
               AS in_send_ns,
           coalesce(max(0, delivered_ns - max(start_ns, sent_ns)), 0) AS in_receive_ns
    FROM (
        SELECT *,
               delivered_ns - waited_ns AS start_ns,
               waited_ns AS wait_ns,
               -- when its worker was done with the batch before
               iif(worker IS NULL, NULL,
                   min(lag(fetched_ns) OVER (
                           PARTITION BY iterator_id, worker ORDER BY started_ns),
                       started_ns)) AS free_ns
        FROM v_batch
    )
    WHERE waited_ns IS NOT NULL
);

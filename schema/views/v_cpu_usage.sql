-- v_cpu_usage: what processes and their threads used of the CPUs, stretch by stretch.
--
-- One row per stretch between two readings, a second as a rule, for each process as a
-- whole and for each thread that records.
--   run         TEXT     uuid of the run
--   role        TEXT     main, worker or child
--   rank        INTEGER  global rank
--   worker      INTEGER  worker id, NULL: not a worker
--   process_id  INTEGER  process.id
--   thread      TEXT     name of the thread, NULL: all threads of the process
--   start_ns    INTEGER  begin of the stretch, CLOCK_MONOTONIC
--   dur_ns      INTEGER  its length
--   cpu_ns      INTEGER  CPU time in it; of a process it may be more than dur_ns
--   queued_ns   INTEGER  in it, could have run and had no CPU; NULL: unknown
CREATE VIEW v_cpu_usage AS
SELECT run.uuid AS run,
       process.role AS role,
       process.rank AS rank,
       process.worker_id AS worker,
       process.id AS process_id,
       track.name AS thread,
       usage.start_ns AS start_ns,
       usage.at_ns - usage.start_ns AS dur_ns,
       usage.cpu_ns AS cpu_ns,
       usage.queued_ns AS queued_ns
FROM (
    SELECT process_id, track_id, at_ns,
           lag(at_ns) OVER earlier AS start_ns,
           cpu_ns - lag(cpu_ns) OVER earlier AS cpu_ns,
           queued_ns - lag(queued_ns) OVER earlier AS queued_ns
    FROM cpu_usage
    WINDOW earlier AS (PARTITION BY process_id, track_id ORDER BY at_ns)
) AS usage
JOIN process ON process.id = usage.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN track ON track.id = usage.track_id
WHERE usage.start_ns IS NOT NULL;

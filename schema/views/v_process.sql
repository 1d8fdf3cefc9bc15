-- v_process: every process life that recorded something.
--
-- One row per life.
--   process_id       INTEGER  process.id
--   run              TEXT     uuid of the run
--   attempt          INTEGER  attempt of the job, NULL in a worker's file read alone
--   role             TEXT     'main', 'worker' or 'child'
--   rank             INTEGER  global rank
--   worker           INTEGER  worker number in its loader, NULL unless a worker
--   loader           TEXT     name of the loader a worker served
--   pid              INTEGER  process id
--   start_method     TEXT     'fork', 'spawn', 'forkserver' or NULL
--   host             TEXT     host name
--   started_unix_ns  INTEGER  begin, Unix time
--   lifetime_ns      INTEGER  begin to end of recording, NULL if the end is not known
--   ending           TEXT     'clean', 'killed' or 'unknown'
--   dropped_count    INTEGER  records not kept one by one, as a buffer was full
CREATE VIEW v_process AS
SELECT process.id AS process_id,
       run.uuid AS run,
       run.attempt AS attempt,
       process.role AS role,
       process.rank AS rank,
       process.worker_id AS worker,
       loader.name AS loader,
       process.pid AS pid,
       process.start_method AS start_method,
       process.host AS host,
       process.started_ns + _clock_offset.offset_ns AS started_unix_ns,
       process.ended_ns - process.started_ns AS lifetime_ns,
       process.ending AS ending,
       process.dropped_count AS dropped_count
FROM process
JOIN run ON run.id = process.run_id
LEFT JOIN loader ON loader.id = process.loader_id
LEFT JOIN _clock_offset ON _clock_offset.process_id = process.id;

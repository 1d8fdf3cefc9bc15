-- 0001_initial: schema 1.0.0, the tables of a run file.
--
-- One file belongs to one process at a time: the training process of rank 0 writes the
-- path the user gave, every other process a file in the folder `<path>.d/`. A file
-- holds one row in `process` for each process life that wrote it, in any number of runs.
--
-- Times are integer nanoseconds: `..._ns` on CLOCK_MONOTONIC of the host that recorded
-- them (one value means the same instant in every process of that host since boot),
-- `..._unix_ns` since 1970-01-01 UTC. `clock` ties the two together.
--
-- Migrations are append-only. PRAGMA user_version is MAJOR * 10000 + MINOR * 100 + MICRO:
-- readers refuse a newer MAJOR and read a newer MINOR. application_id is 'MTIM'.

PRAGMA application_id = 1297369421;
PRAGMA user_version = 10000;

-- meta: facts about the file itself.
--   key    TEXT  'schema_version', 'created_by'
--   value  TEXT  the fact
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('schema_version', '1.0.0');

-- run: one attempt of one training.
--   id               INTEGER  row id, of this file only
--   uuid             TEXT     identity of the attempt, the same in every file of the run
--   job              TEXT     identity shared by all attempts of one job
--   attempt          INTEGER  1 for the first, one more for each restart; NULL where the
--                             writing process does not know it (workers)
--   started_unix_ns  INTEGER  when the writing process fixed or learnt the identity
--   command          TEXT     command line, arguments that look like secrets masked
--   cwd              TEXT     working folder when the identity was fixed
--   host             TEXT     host name
CREATE TABLE run (
    id              INTEGER PRIMARY KEY,
    uuid            TEXT NOT NULL UNIQUE,
    job             TEXT NOT NULL,
    attempt         INTEGER,
    started_unix_ns INTEGER NOT NULL,
    command         TEXT NOT NULL,
    cwd             TEXT NOT NULL,
    host            TEXT NOT NULL
) STRICT;

-- process: one process life.
--   id              INTEGER  row id
--   run_id          INTEGER  the run it took part in
--   uuid            TEXT     identity of this life
--   parent_uuid     TEXT     the life that started it, NULL if that did not record
--   role            TEXT     'main' (a training process), 'worker' (of a DataLoader) or
--                            'child' (any other child that recorded something)
--   rank            INTEGER  global rank, 0 .. world_size - 1; a worker has its parent's
--   world_size      INTEGER  number of ranks
--   worker_id       INTEGER  0 .. num_workers - 1 in its loader, NULL unless a worker
--   loader_id       INTEGER  the loader a worker works for, NULL unless a worker
--   pid             INTEGER  process id
--   start_method    TEXT     'fork', 'spawn', 'forkserver', NULL if not started by Python
--   host            TEXT     host name
--   boot_id         TEXT     identity of the host's boot: monotonic times compare within it
--   started_ns      INTEGER  when the process began, as near as is known
--   ended_ns        INTEGER  when recording ended, NULL while it runs or if it was killed
--   ending          TEXT     'clean', 'killed' or 'unknown' (also while it runs)
--   dropped_count   INTEGER  records that are not there one by one because a buffer was
--                            full: their sums are in interval_total and counter_total
--   unsummed_count  INTEGER  of those, how many are in no sum either
CREATE TABLE process (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES run (id),
    uuid           TEXT NOT NULL UNIQUE,
    parent_uuid    TEXT,
    role           TEXT NOT NULL CHECK (role IN ('main', 'worker', 'child')),
    rank           INTEGER NOT NULL DEFAULT 0,
    world_size     INTEGER NOT NULL DEFAULT 1,
    worker_id      INTEGER,
    loader_id      INTEGER REFERENCES loader (id),
    pid            INTEGER NOT NULL,
    start_method   TEXT,
    host           TEXT NOT NULL,
    boot_id        TEXT NOT NULL,
    started_ns     INTEGER NOT NULL,
    ended_ns       INTEGER,
    ending         TEXT NOT NULL DEFAULT 'unknown'
                   CHECK (ending IN ('clean', 'killed', 'unknown')),
    dropped_count  INTEGER NOT NULL DEFAULT 0,
    unsummed_count INTEGER NOT NULL DEFAULT 0
) STRICT;

-- clock: a pair of readings of the two clocks at one instant.
--   id            INTEGER  row id
--   process_id    INTEGER  who read them: at start, now and then, at the end
--   monotonic_ns  INTEGER  CLOCK_MONOTONIC
--   unix_ns       INTEGER  CLOCK_REALTIME
CREATE TABLE clock (
    id           INTEGER PRIMARY KEY,
    process_id   INTEGER NOT NULL REFERENCES process (id),
    monotonic_ns INTEGER NOT NULL,
    unix_ns      INTEGER NOT NULL
) STRICT;

-- cpu_usage: what a process, or one thread of it, has used of the CPUs so far.
--   id          INTEGER  row id
--   process_id  INTEGER  whose
--   track_id    INTEGER  the thread, NULL: all threads of the process
--   at_ns       INTEGER  when, CLOCK_MONOTONIC: at start, every second (every
--                        500th of the life so far, if that is longer), at the end
--   cpu_ns      INTEGER  CPU time since it began
--   queued_ns   INTEGER  how long it could have run and had no CPU since it began, by
--                        the kernel's count (schedstat); of a process the sum over the
--                        threads that it has now, without the recorder's; NULL: unknown
CREATE TABLE cpu_usage (
    id         INTEGER PRIMARY KEY,
    process_id INTEGER NOT NULL REFERENCES process (id),
    track_id   INTEGER REFERENCES track (id),
    at_ns      INTEGER NOT NULL,
    cpu_ns     INTEGER NOT NULL,
    queued_ns  INTEGER
) STRICT;

-- environment: a named fact about a process, never a dump of its environment.
--   process_id  INTEGER  whose fact
--   key         TEXT     e.g. 'torch.version', 'cpu.granted', 'metatrain.batch_size'
--   value       TEXT     the fact as text
CREATE TABLE environment (
    process_id INTEGER NOT NULL REFERENCES process (id),
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (process_id, key)
) STRICT, WITHOUT ROWID;

-- health: something that went wrong while recording; the training was not disturbed.
--   id          INTEGER  row id
--   process_id  INTEGER  where
--   at_ns       INTEGER  when
--   code        TEXT     e.g. 'buffer_full', 'disk_full', 'unknown_torch'
--   text        TEXT     one sentence
CREATE TABLE health (
    id         INTEGER PRIMARY KEY,
    process_id INTEGER NOT NULL REFERENCES process (id),
    at_ns      INTEGER NOT NULL,
    code       TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;

-- loader: one DataLoader object. The training process that made it writes the row; a
-- worker writes a copy with its own process_id and the same number, so that its file
-- can be read alone. `mt-analyze merge` keeps the owner's row of the two.
--   id                  INTEGER  row id
--   process_id          INTEGER  the process that wrote the row
--   number              INTEGER  1, 2, ... in the process that made the loader
--   name                TEXT     given by the user, else made from dataset and place
--   created_at          TEXT     file:line of the call that made it
--   dataset_class       TEXT     qualified class name of the dataset
--   num_workers         INTEGER  0: the training process reads the data itself
--   batch_size          INTEGER  samples per batch, NULL with a batch sampler of its own
--   prefetch_factor     INTEGER  batches ahead per worker, NULL without workers
--   persistent_workers  INTEGER  1: workers live on between passes
--   pin_memory          INTEGER  1: batches are copied to page-locked memory
--   in_order            INTEGER  1: batches are handed out in the order of their index
--   start_method        TEXT     'fork', 'spawn', 'forkserver', NULL without workers
--   sampler_class       TEXT     qualified class name of the (batch) sampler
CREATE TABLE loader (
    id                 INTEGER PRIMARY KEY,
    process_id         INTEGER NOT NULL REFERENCES process (id),
    number             INTEGER NOT NULL,
    name               TEXT NOT NULL,
    created_at         TEXT,
    dataset_class      TEXT,
    num_workers        INTEGER NOT NULL DEFAULT 0,
    batch_size         INTEGER,
    prefetch_factor    INTEGER,
    persistent_workers INTEGER NOT NULL DEFAULT 0,
    pin_memory         INTEGER NOT NULL DEFAULT 0,
    in_order           INTEGER NOT NULL DEFAULT 1,
    start_method       TEXT,
    sampler_class      TEXT,
    UNIQUE (process_id, number)
) STRICT;

-- iterator: one pass over a loader; workers write copies as they do of `loader`.
--   id             INTEGER  row id
--   loader_id      INTEGER  over which loader
--   number         INTEGER  1, 2, ... over all loaders of the process that made it
--   epoch          INTEGER  0, 1, ... passes over this loader
--   phase          TEXT     'train' once a backward or optimizer call was seen in the
--                           pass, else 'evaluation' from its first wait on; a name the
--                           user gave wins; NULL: nobody waited for a batch (yet)
--   started_ns     INTEGER  when it was made
--   first_wait_ns  INTEGER  when the training process first waited for a batch of it
--   ended_ns       INTEGER  when it was exhausted or given up
--   exhausted      INTEGER  1: it ended because the data did, 0: it was left early
CREATE TABLE iterator (
    id            INTEGER PRIMARY KEY,
    loader_id     INTEGER NOT NULL REFERENCES loader (id),
    number        INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    phase         TEXT,
    started_ns    INTEGER NOT NULL,
    first_wait_ns INTEGER,
    ended_ns      INTEGER,
    exhausted     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (loader_id, number)
) STRICT;

-- stage: a name of what an interval was doing.
--   id    INTEGER  row id
--   name  TEXT     e.g. 'loader', 'collate', 'transforms/center'
CREATE TABLE stage (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- track: a thread or a CUDA stream; the intervals on it nest properly.
--   id             INTEGER  row id
--   process_id     INTEGER  whose
--   tid            INTEGER  thread id of the kernel, or the stream's number
--   name           TEXT     e.g. 'MainThread', 'QueueFeederThread'
--   kind           TEXT     'cpu' or 'cuda'
--   number         INTEGER  1, 2, ... in its process; NULL in a merged file
--   ring_position  INTEGER  up to where the records of its buffer are in this file: what
--                           is missing after a kill is read from there on, and once
CREATE TABLE track (
    id            INTEGER PRIMARY KEY,
    process_id    INTEGER NOT NULL REFERENCES process (id),
    tid           INTEGER NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL DEFAULT 'cpu' CHECK (kind IN ('cpu', 'cuda')),
    number        INTEGER,
    ring_position INTEGER NOT NULL DEFAULT 0
) STRICT;

-- interval: a timed stretch [start_ns, start_ns + dur_ns) of one stage on one track.
--   id           INTEGER  row id, in order of ending per track
--   track_id     INTEGER  where
--   stage_id     INTEGER  what
--   start_ns     INTEGER  begin
--   dur_ns       INTEGER  length, children included
--   depth        INTEGER  enclosing open intervals on the track when it began
--   step         INTEGER  training steps done when the loop's turn began, counted from 0
--                         in each training process; NULL in workers
--   iterator_id  INTEGER  the pass whose batch was worked on or waited for
--   batch        INTEGER  torch's task index of that batch in the pass, from 0
--   cpu_ns       INTEGER  CPU time of the thread, NULL where not measured
CREATE TABLE interval (
    id          INTEGER PRIMARY KEY,
    track_id    INTEGER NOT NULL REFERENCES track (id),
    stage_id    INTEGER NOT NULL REFERENCES stage (id),
    start_ns    INTEGER NOT NULL,
    dur_ns      INTEGER NOT NULL,
    depth       INTEGER NOT NULL,
    step        INTEGER,
    iterator_id INTEGER REFERENCES iterator (id),
    batch       INTEGER,
    cpu_ns      INTEGER
) STRICT;

-- open_interval: an interval that was still open when recording of its process ended,
-- e.g. the step in which the training was interrupted.
--   columns as in `interval`, without a length
CREATE TABLE open_interval (
    id          INTEGER PRIMARY KEY,
    track_id    INTEGER NOT NULL REFERENCES track (id),
    stage_id    INTEGER NOT NULL REFERENCES stage (id),
    start_ns    INTEGER NOT NULL,
    depth       INTEGER NOT NULL,
    step        INTEGER,
    iterator_id INTEGER REFERENCES iterator (id),
    batch       INTEGER
) STRICT;

-- interval_total: sums of intervals that are not in `interval`: a run that passes its size
-- limit keeps some of its batches and steps one by one, and only these of the others; and
-- a thread whose buffer is full keeps only these.
-- Rows are a tree, as the intervals were nested; several rows may be the same node.
--   id           INTEGER  row id, above that of its parent
--   track_id     INTEGER  where
--   parent_id    INTEGER  the row of what enclosed them, NULL at the top
--   stage_id     INTEGER  what
--   iterator_id  INTEGER  as in `interval`
--   calls        INTEGER  how many; 0 where only parts of theirs are left out
--   total_ns     INTEGER  sum of their lengths, children included
--   cpu_ns       INTEGER  sum of CPU time of those that measured it, NULL where none did
--   cpu_wall_ns  INTEGER  sum of the lengths of those
--   first_ns     INTEGER  begin of the first of them, NULL where calls is 0
--   last_ns      INTEGER  end of the last, NULL where calls is 0
--   node         INTEGER  of a full buffer: 0, 1, ... on its track; NULL: of the size limit
CREATE TABLE interval_total (
    id          INTEGER PRIMARY KEY,
    track_id    INTEGER NOT NULL REFERENCES track (id),
    parent_id   INTEGER REFERENCES interval_total (id),
    stage_id    INTEGER NOT NULL REFERENCES stage (id),
    iterator_id INTEGER REFERENCES iterator (id),
    calls       INTEGER NOT NULL,
    total_ns    INTEGER NOT NULL,
    cpu_ns      INTEGER,
    cpu_wall_ns INTEGER NOT NULL DEFAULT 0,
    first_ns    INTEGER,
    last_ns     INTEGER,
    node        INTEGER,
    UNIQUE (track_id, node)
) STRICT;

-- counter_name: a name of what is counted.
--   id    INTEGER  row id
--   name  TEXT     e.g. 'structures', 'atoms'
CREATE TABLE counter_name (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- counter: a counted or sampled value.
--   id           INTEGER  row id
--   track_id     INTEGER  where it was counted
--   name_id      INTEGER  what, see counter_name
--   at_ns        INTEGER  when
--   value        REAL     the amount added
--   step         INTEGER  as in `interval`
--   iterator_id  INTEGER  as in `interval`
--   batch        INTEGER  as in `interval`
CREATE TABLE counter (
    id          INTEGER PRIMARY KEY,
    track_id    INTEGER NOT NULL REFERENCES track (id),
    name_id     INTEGER NOT NULL REFERENCES counter_name (id),
    at_ns       INTEGER NOT NULL,
    value       REAL NOT NULL,
    step        INTEGER,
    iterator_id INTEGER REFERENCES iterator (id),
    batch       INTEGER
) STRICT;

-- counter_total: sums of counted values that are not in `counter`, as `interval_total`.
--   id           INTEGER  row id
--   track_id     INTEGER  where they were counted
--   name_id      INTEGER  what, see counter_name
--   iterator_id  INTEGER  as in `interval`
--   calls        INTEGER  how many
--   value        REAL     sum of the amounts added
--   node         INTEGER  as in `interval_total`
CREATE TABLE counter_total (
    id          INTEGER PRIMARY KEY,
    track_id    INTEGER NOT NULL REFERENCES track (id),
    name_id     INTEGER NOT NULL REFERENCES counter_name (id),
    iterator_id INTEGER REFERENCES iterator (id),
    calls       INTEGER NOT NULL,
    value       REAL NOT NULL,
    node        INTEGER,
    UNIQUE (track_id, node)
) STRICT;

-- insert_run: the run a process takes part in; does nothing where the file knows it.
--   :uuid :job :attempt :started_unix_ns :command :cwd :host  columns of `run`
INSERT INTO run (uuid, job, attempt, started_unix_ns, command, cwd, host)
VALUES (:uuid, :job, :attempt, :started_unix_ns, :command, :cwd, :host)
ON CONFLICT (uuid) DO NOTHING;

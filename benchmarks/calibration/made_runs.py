"""Series of step times as files of the recorder's schema, at 10 ms for 1,000 steps.

One process trains in one pass over a loader without workers; a fifth of each step is
the wait for its batch, the rest are forward, backward, optimizer and some gaps.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np

from benchmarks.calibration.noise_models import Floats
from benchmarks.python.made_run import make_run

# name, begin and end in thousandths of the step, depth; in the order of their ends
_PARTS = (
    ("loader", 0, 200, 0),
    ("forward", 210, 480, 1),
    ("backward", 490, 880, 1),
    ("optimizer", 890, 980, 1),
    ("step", 200, 1_000, 0),
)

_INTERVALS = """
WITH turn AS (
    SELECT key AS n, value AS dur_ns,
           sum(value) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - value AS start_ns
    FROM json_each(:steps_ns)
)
INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id,
                      batch)
SELECT 1, part.stage_id, start_ns + dur_ns * part.begin / 1000,
       dur_ns * part.end / 1000 - dur_ns * part.begin / 1000, part.depth, n, 1, n
FROM turn CROSS JOIN part  -- rows in this order
"""


class RunWriter:
    """Writes runs that differ in nothing but their step times."""

    def __init__(self, folder: Path) -> None:
        """:param folder: for a file that the runs are copies of."""
        self._template = folder / "template.db"
        make_run(self._template, steps=1, workers=0)
        database = sqlite3.connect(self._template)
        database.executescript(
            "DELETE FROM interval;"
            "UPDATE loader SET prefetch_factor = NULL, start_method = NULL,"
            "                  persistent_workers = 0;"
        )
        self._stages = dict(database.execute("SELECT name, id FROM stage"))
        database.close()

    def write(self, path: Path, step_times_ns: Floats) -> None:
        """
        Make the file of a run.

        :param path: of the file; its name, without the folder, is the run's identity.
        :param step_times_ns: rounded to whole ones; wait and body of each step together
            are what is given here.
        """
        steps_ns = np.rint(step_times_ns).astype(np.int64)
        shutil.copyfile(self._template, path)
        database = sqlite3.connect(path)
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TEMP TABLE part (stage_id, begin, end, depth)")
        database.executemany(
            "INSERT INTO part VALUES (?, ?, ?, ?)",
            [(self._stages[name], *rest) for name, *rest in _PARTS],
        )
        database.execute(_INTERVALS, {"steps_ns": json.dumps(steps_ns.tolist())})
        database.execute("UPDATE run SET uuid = ?", (path.name,))
        ended = (int(steps_ns.sum()),)
        database.execute("UPDATE process SET ended_ns = ?", ended)
        database.execute("UPDATE iterator SET ended_ns = ?", ended)
        database.commit()
        database.close()

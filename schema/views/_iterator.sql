-- _iterator: every pass with its phase as reports show it.
--
-- One row per pass. An evaluation pass that was first waited for before any training
-- pass of the same process is 'before-training': such loops fit baselines or scales.
--   iterator_id  INTEGER  iterator.id
--   loader       TEXT     name of the loader
--   epoch        INTEGER  passes over the loader before this one
--   phase        TEXT     'train', 'evaluation', 'before-training', the user's name,
--                         'unused' (made, perhaps prefetched, never waited for), or
--                         'unknown' (a worker's file read alone)
CREATE VIEW _iterator AS
SELECT iterator.id AS iterator_id,
       loader.name AS loader,
       iterator.epoch AS epoch,
       CASE
           WHEN iterator.phase = 'evaluation'
                AND iterator.first_wait_ns < (
                    SELECT min(other.first_wait_ns)
                    FROM iterator AS other
                    JOIN loader AS other_loader ON other_loader.id = other.loader_id
                    WHERE other_loader.process_id = loader.process_id
                      AND other.phase = 'train'
                ) THEN 'before-training'
           WHEN iterator.phase IS NOT NULL THEN iterator.phase
           WHEN process.role = 'worker' THEN 'unknown'
           ELSE 'unused'
       END AS phase
FROM iterator
JOIN loader ON loader.id = iterator.loader_id
JOIN process ON process.id = loader.process_id;

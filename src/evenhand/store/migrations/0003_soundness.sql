-- Rows carry a checksum, runs a fencing number, and the cache points to where a reply stands.

-- Counted up by every claim: who has an older number has lost the run.
ALTER TABLE runs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
-- How many rows a finished run has; NULL where that was not counted.
ALTER TABLE runs ADD COLUMN evaluations BIGINT;
ALTER TABLE runs ADD COLUMN answers BIGINT;
-- 1 where every row of the run has a checksum; older runs have some without.
ALTER TABLE runs ADD COLUMN covered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN checksum BIGINT;

ALTER TABLE cases ADD COLUMN checksum BIGINT;
ALTER TABLE answers ADD COLUMN checksum BIGINT;
ALTER TABLE evaluations ADD COLUMN checksum BIGINT;

-- The run in which the text of a reply stands, and its length; the content says where. Replies of before have their
-- text in their content, and no run.
ALTER TABLE replies ADD COLUMN run BIGINT REFERENCES runs (number) ON DELETE CASCADE;
ALTER TABLE replies ADD COLUMN characters BIGINT;
ALTER TABLE replies ADD COLUMN checksum BIGINT;

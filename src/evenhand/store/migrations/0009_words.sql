-- Lists of large runs: what the usual filters match is counted when a listing is made, in JSON; the two orders that take
-- longest have an index; and the words of the texts that are searched are kept with the cases that have them.

ALTER TABLE listings ADD COLUMN totals TEXT NOT NULL DEFAULT 'null';
-- Of how many cases the words are there.
ALTER TABLE listings ADD COLUMN words BIGINT NOT NULL DEFAULT 0;

CREATE INDEX listed_evaluations_by_score ON listed_evaluations (run, score);

CREATE INDEX listed_cases_by_id ON listed_cases (run, id);

-- A word, and which of the cases from a position on have it.
CREATE TABLE listed_words (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    word TEXT{bytewise} NOT NULL,
    first BIGINT NOT NULL,
    positions {binary} NOT NULL,
    PRIMARY KEY (run, word, first)
){clustered};

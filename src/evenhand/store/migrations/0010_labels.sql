-- Labels by people, beside the run whose answers they are of. A later number replaces an earlier one of the same case,
-- evaluator and person; the content says what was said of which answer, or that it was taken back.

CREATE TABLE labels (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    number BIGINT NOT NULL,
    evaluator TEXT NOT NULL,
    rater TEXT NOT NULL,
    content TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (run, number)
);

CREATE INDEX labels_by_case ON labels (run, position);

-- Which cases people were to label, in which order and with which chances; the last draw of each evaluator counts.

CREATE TABLE label_draws (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    content TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (run, number)
);

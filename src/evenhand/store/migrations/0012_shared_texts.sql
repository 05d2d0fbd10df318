-- Texts that many evaluations of a run have in common, such as the instructions of its judge. They are cut out of the
-- evaluations, whose content says where they belong, and stored once for each run: whoever deletes a run deletes them.

CREATE TABLE shared_texts (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, hash)
);

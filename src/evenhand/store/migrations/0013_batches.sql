-- Batches that were submitted, or are about to be: the row is there before the provider hears of the batch, and its id
-- is filled in when the provider has named one. Batches that are over keep their row.

CREATE TABLE batches (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    key TEXT NOT NULL PRIMARY KEY,
    model TEXT NOT NULL,
    id TEXT,
    state TEXT NOT NULL,
    requests BIGINT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);

CREATE INDEX batches_by_run ON batches (run);

-- The requests of batches whose evaluations are not committed yet, each with its answer once that was read.

CREATE TABLE batch_requests (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    item TEXT NOT NULL,
    batch TEXT NOT NULL,
    number BIGINT NOT NULL,
    content TEXT,
    checksum TEXT,
    PRIMARY KEY (run, item)
);

CREATE INDEX batch_requests_by_batch ON batch_requests (batch);

-- What the cases of a run ask, as one hash, so that runs over time can be told apart by their data without reading them.
-- It is of so many cases: once there are more, it no longer counts.

CREATE TABLE case_digests (
    run BIGINT NOT NULL PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    cases BIGINT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL
);

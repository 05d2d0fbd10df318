-- What lists of a run filter and sort by, in narrow rows of their own, and worked out from the others: they can be made
-- anew at any time. What a listing covers says from how much it was made: once there is more, it no longer counts.
-- {clustered} keeps the rows of SQLite in the order of their key; {bytewise} sorts text as SQLite does.

CREATE TABLE listings (
    run BIGINT NOT NULL PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    format TEXT NOT NULL,
    covers TEXT NOT NULL,
    cases BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    evaluations BIGINT NOT NULL,
    evaluators TEXT NOT NULL,
    texts BIGINT NOT NULL
);

-- The last round of each evaluation. The label is a hash of it.
CREATE TABLE listed_evaluations (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    row BIGINT NOT NULL,
    position BIGINT NOT NULL,
    place BIGINT NOT NULL,
    sample BIGINT NOT NULL,
    standing SMALLINT NOT NULL,
    score DOUBLE PRECISION,
    retried SMALLINT NOT NULL,
    cost DOUBLE PRECISION,
    seconds DOUBLE PRECISION NOT NULL,
    label BIGINT,
    evaluator TEXT{bytewise} NOT NULL,
    model TEXT{bytewise},
    PRIMARY KEY (run, row, position, place, sample)
){clustered};

-- The row of a case is the position of the first case with the same test case.
CREATE TABLE listed_cases (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    row BIGINT NOT NULL,
    position BIGINT NOT NULL,
    standing SMALLINT NOT NULL,
    score DOUBLE PRECISION,
    retried SMALLINT NOT NULL,
    differs SMALLINT NOT NULL,
    cost DOUBLE PRECISION,
    seconds DOUBLE PRECISION NOT NULL,
    model TEXT{bytewise},
    id TEXT{bytewise} NOT NULL,
    PRIMARY KEY (run, row, position)
){clustered};

-- What is searched of a case, in small letters; a listing says of how many of its cases they are there.
CREATE TABLE listed_texts (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    text TEXT{bytewise} NOT NULL,
    PRIMARY KEY (run, position)
){clustered};

-- Which cases have which value for a key of their metadata, by hashes of both, and how many cases were read for a key.
CREATE TABLE listed_metadata (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    key BIGINT NOT NULL,
    value BIGINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (run, key, value, position)
){clustered};

CREATE TABLE listed_keys (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    key BIGINT NOT NULL,
    cases BIGINT NOT NULL,
    PRIMARY KEY (run, key)
){clustered};

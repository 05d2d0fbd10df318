-- {serial} is the dialect's automatic number; everything else means the same to SQLite and PostgreSQL.

CREATE TABLE runs (
    number {serial},
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT,
    definition TEXT NOT NULL,
    options TEXT NOT NULL,
    cases BIGINT NOT NULL,
    repeat BIGINT NOT NULL,
    forked_from TEXT,
    version TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    finished DOUBLE PRECISION,
    abandoned_calls BIGINT NOT NULL DEFAULT 0,
    abandoned_cost DOUBLE PRECISION DEFAULT 0,
    owner TEXT,
    seen DOUBLE PRECISION
);

CREATE TABLE cases (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    expected BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, position)
);

CREATE UNIQUE INDEX cases_by_id ON cases (run, id);

CREATE TABLE answers (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    sample BIGINT NOT NULL,
    round BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, position, sample, round)
);

CREATE TABLE evaluations (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    place BIGINT NOT NULL,
    sample BIGINT NOT NULL,
    round BIGINT NOT NULL,
    evaluator TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    score DOUBLE PRECISION,
    verdict TEXT,
    weight DOUBLE PRECISION NOT NULL,
    required BIGINT NOT NULL,
    cost DOUBLE PRECISION,
    seconds DOUBLE PRECISION NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, position, place, sample, round)
);

CREATE TABLE replies (
    key TEXT NOT NULL PRIMARY KEY,
    model TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    content TEXT NOT NULL
);

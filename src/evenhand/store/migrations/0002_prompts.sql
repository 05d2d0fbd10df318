-- Prompts with their versions, and the test cases that they are tried on.

CREATE TABLE prompts (
    number {serial},
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    latest BIGINT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);

CREATE TABLE prompt_versions (
    prompt BIGINT NOT NULL REFERENCES prompts (number) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    expected_schema TEXT,
    evaluation_mode TEXT NOT NULL,
    evaluation_criteria TEXT,
    created DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (prompt, version)
);

CREATE TABLE test_cases (
    number {serial},
    id TEXT NOT NULL UNIQUE,
    prompt BIGINT NOT NULL REFERENCES prompts (number) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    input TEXT NOT NULL,
    evaluation_schema TEXT,
    reference TEXT,
    created DOUBLE PRECISION NOT NULL,
    edited DOUBLE PRECISION NOT NULL
);

CREATE INDEX test_cases_by_prompt ON test_cases (prompt, number);

-- What somebody asked for under a key of theirs, so that asking again does not do it again.
CREATE TABLE requests (
    key TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    outcome TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);

-- The numbers of runs, so that nobody has to go through a large run to list it.
-- What they cover says from how much they were worked out: once there is more, they no longer count.

CREATE TABLE summaries (
    run BIGINT NOT NULL PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    format TEXT NOT NULL,
    covers TEXT NOT NULL,
    checksum TEXT NOT NULL,
    content TEXT NOT NULL
);

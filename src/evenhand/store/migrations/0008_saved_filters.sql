-- Filters of the list of runs that somebody gave a name, as the query of an address.

CREATE TABLE saved_filters (
    name TEXT NOT NULL PRIMARY KEY,
    query TEXT NOT NULL,
    saved DOUBLE PRECISION NOT NULL
);

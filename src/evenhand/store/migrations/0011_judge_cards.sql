-- Judge cards, so that nobody has to go through a large run to see one again. What a card covers says from which
-- results, labels and draws it was worked out: once there is more, it no longer counts.

CREATE TABLE judge_cards (
    run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    evaluator TEXT NOT NULL,
    format TEXT NOT NULL,
    covers TEXT NOT NULL,
    checksum TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, evaluator)
);

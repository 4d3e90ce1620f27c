-- +goose Up
-- A call that was made in somebody's name counts against their day. One that is
-- not settled yet is stored as lost at its worst case, held by its owner until
-- held_until; from then on that is what it cost.
ALTER TABLE llm_calls ADD COLUMN contact_id TEXT NOT NULL DEFAULT '';
ALTER TABLE llm_calls ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE llm_calls ADD COLUMN held_until {{.timestamp}};

-- What every purse has spent and set aside. day counts days since 1970 in UTC
-- and is 0 for threads; holder is the thread or the contact.
CREATE TABLE llm_purses (
    ceiling   TEXT NOT NULL,
    holder    TEXT NOT NULL,
    day       {{.bigint}} NOT NULL,
    cost_pico {{.bigint}} NOT NULL,
    told      {{.bool}} NOT NULL DEFAULT FALSE,
    PRIMARY KEY (ceiling, holder, day)
);

INSERT INTO llm_purses (ceiling, holder, day, cost_pico)
    SELECT 'thread', thread_id, 0, SUM(cost_pico) FROM llm_calls WHERE account = 'thread' AND thread_id <> '' GROUP BY thread_id;

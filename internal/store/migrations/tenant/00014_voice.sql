-- +goose Up
-- Telephone calls. seq is the last event that was taken; answer is what was
-- answered to it, NULL while that is being found out.
CREATE TABLE voice_calls (
    id         TEXT PRIMARY KEY,
    contact_id TEXT NOT NULL,
    number     TEXT NOT NULL,
    phase      TEXT NOT NULL CHECK (phase IN ('talking', 'offered', 'ended')),
    language   TEXT NOT NULL,
    seq        {{.bigint}} NOT NULL,
    answer     {{.json}},
    choices    {{.json}},
    started_at {{.timestamp}} NOT NULL,
    changed_at {{.timestamp}} NOT NULL,
    ended_at   {{.timestamp}}
);
CREATE INDEX voice_calls_contact ON voice_calls (contact_id) WHERE ended_at IS NULL;

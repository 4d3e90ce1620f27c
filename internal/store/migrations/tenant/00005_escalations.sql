-- +goose Up
-- What a model was not sure of and a person decides. asked is the escalation as
-- it was posted; mailbox_key is where the decision goes, '' when nothing waits
-- for it. channel and message say where its card stands.
CREATE TABLE escalations (
    id          TEXT PRIMARY KEY,
    role        TEXT NOT NULL,
    cause       TEXT NOT NULL,
    mailbox_key TEXT NOT NULL DEFAULT '',
    thread_id   TEXT NOT NULL DEFAULT '',
    contact_id  TEXT NOT NULL DEFAULT '',
    turn_id     TEXT NOT NULL DEFAULT '',
    task_id     TEXT NOT NULL DEFAULT '',
    step        TEXT NOT NULL DEFAULT '',
    asked       {{.json}} NOT NULL,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'decided', 'expired')),
    decision    {{.json}},
    decided_by  TEXT NOT NULL DEFAULT '',
    decided_at  {{.timestamp}},
    channel     TEXT NOT NULL DEFAULT '',
    message     TEXT NOT NULL DEFAULT '',
    created_at  {{.timestamp}} NOT NULL,
    expires_at  {{.timestamp}} NOT NULL
);
CREATE INDEX escalations_created ON escalations (created_at);
CREATE INDEX escalations_contact ON escalations (contact_id);

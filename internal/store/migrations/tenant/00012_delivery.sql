-- +goose Up
-- When a message reached the provider's next state, by the provider's clock;
-- each only ever moves to an earlier time. sent_at is ours.
ALTER TABLE outbox ADD COLUMN delivered_at {{.timestamp}};
ALTER TABLE outbox ADD COLUMN read_at {{.timestamp}};
ALTER TABLE outbox ADD COLUMN failed_at {{.timestamp}};

-- Cards for admins whose 24-hour window was closed: they got a template, and the
-- card follows their first word.
CREATE TABLE held_messages (
    seq        {{.identity}},
    contact_id TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    code       TEXT NOT NULL,
    body       {{.json}} NOT NULL,
    at         {{.timestamp}} NOT NULL
);
CREATE INDEX held_messages_contact ON held_messages (contact_id, seq);
CREATE INDEX held_messages_thread ON held_messages (thread_id);

-- What was said while a human had a chat: the customer's words, the admin's,
-- and the lines of the system between them. outbox_id is the message that
-- carried it, whose receipts message_metadata tells.
CREATE TABLE handoff_log (
    id               TEXT PRIMARY KEY,
    thread_id        TEXT NOT NULL,
    actor            TEXT NOT NULL CHECK (actor IN ('customer', 'admin', 'system')),
    actor_phone      TEXT NOT NULL DEFAULT '',
    content          TEXT NOT NULL,
    language         TEXT NOT NULL DEFAULT '',
    sent_at          {{.timestamp}} NOT NULL,
    message_metadata {{.json}} NOT NULL,
    outbox_id        TEXT NOT NULL DEFAULT ''
);
CREATE INDEX handoff_log_thread ON handoff_log (thread_id, sent_at, id);
CREATE INDEX handoff_log_outbox ON handoff_log (outbox_id) WHERE outbox_id <> '';

CREATE TABLE handoff_log_archive (
    id               TEXT PRIMARY KEY,
    thread_id        TEXT NOT NULL,
    actor            TEXT NOT NULL CHECK (actor IN ('customer', 'admin', 'system')),
    actor_phone      TEXT NOT NULL DEFAULT '',
    content          TEXT NOT NULL,
    language         TEXT NOT NULL DEFAULT '',
    sent_at          {{.timestamp}} NOT NULL,
    message_metadata {{.json}} NOT NULL,
    outbox_id        TEXT NOT NULL DEFAULT '',
    archived_at      {{.timestamp}} NOT NULL
);
CREATE INDEX handoff_log_archive_thread ON handoff_log_archive (thread_id, sent_at, id);
CREATE INDEX conversation_threads_closed ON conversation_threads (closed_at) WHERE closed_at IS NOT NULL;

-- +goose Up
-- When a contact asked for no more announcements; NULL: wants them.
ALTER TABLE contacts ADD COLUMN opted_out_at {{.timestamp}};
CREATE INDEX contacts_by_inbound ON contacts (last_inbound_at);

CREATE TABLE broadcasts (
    id         TEXT PRIMARY KEY,
    text       TEXT NOT NULL,
    days       {{.bigint}} NOT NULL,
    number     TEXT NOT NULL,
    locale     TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    step       {{.bigint}} NOT NULL,
    created_at {{.timestamp}} NOT NULL
);

-- Who is written to: decided once, with the broadcast. outbox_id is empty until
-- their message is on its way.
CREATE TABLE broadcast_recipients (
    broadcast_id TEXT NOT NULL REFERENCES broadcasts (id),
    contact_id   TEXT NOT NULL,
    outbox_id    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (broadcast_id, contact_id)
);
CREATE INDEX broadcast_recipients_waiting ON broadcast_recipients (broadcast_id, contact_id) WHERE outbox_id = '';
CREATE INDEX broadcast_recipients_by_contact ON broadcast_recipients (contact_id);

CREATE TABLE documents (
    doc_key    TEXT NOT NULL,
    part       {{.bigint}} NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    updated_at {{.timestamp}} NOT NULL,
    PRIMARY KEY (doc_key, part)
);

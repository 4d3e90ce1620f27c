-- +goose Up
-- The processes that serve, and the checkpoint versions each can read, by app.
CREATE TABLE nodes (
    id      TEXT PRIMARY KEY,
    beat_at {{.timestamp}} NOT NULL,
    reads   {{.json}} NOT NULL
);

-- When a tenant may have work. A node that works on a tenant keeps a row that is
-- due; when the tenant rests, the row says when its next work is due. What no
-- row announces nobody looks for, so a row is written before the work is.
CREATE TABLE wakes (
    tenant_id TEXT NOT NULL,
    node_id   TEXT NOT NULL,
    due_at    {{.timestamp}} NOT NULL,
    PRIMARY KEY (tenant_id, node_id)
);
CREATE INDEX wakes_due ON wakes (due_at);

INSERT INTO wakes (tenant_id, node_id, due_at) SELECT id, '', updated_at FROM tenants;

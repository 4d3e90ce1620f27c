-- +goose Up
-- In whose name a tool was called: a contact's id or an admin's phone. via says
-- by which way: a turn, or MCP.
ALTER TABLE tool_calls ADD COLUMN actor TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_calls ADD COLUMN via TEXT NOT NULL DEFAULT 'turn';

-- Questions to the business's people outside a chat, whose yes is the token. A
-- row is used once, by whom it was made for, for exactly the call it names.
CREATE TABLE tool_confirmations (
    token_hash TEXT PRIMARY KEY,
    actor      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    created_at {{.timestamp}} NOT NULL,
    expires_at {{.timestamp}} NOT NULL,
    used_at    {{.timestamp}}
);

-- Tokens by which MCP clients act as an admin.
CREATE TABLE mcp_tokens (
    id         TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    admin      TEXT NOT NULL,
    label      TEXT NOT NULL,
    created_at {{.timestamp}} NOT NULL,
    used_at    {{.timestamp}},
    revoked_at {{.timestamp}}
);

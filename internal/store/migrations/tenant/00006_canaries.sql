-- +goose Up
-- Which arm of each role's trial a conversation is in, by role. Nodes one version
-- older leave it as it is.
ALTER TABLE conversation_threads ADD COLUMN arms {{.json}};

-- How a role did lately is read beside every model call's prompt, now and then.
CREATE INDEX llm_calls_role ON llm_calls (role, at);

-- +goose Up
-- A task is open, taken by its owner, or done, and has a time by which somebody
-- should have seen to it.
ALTER TABLE tasks ADD COLUMN taken_at {{.timestamp}};
ALTER TABLE tasks ADD COLUMN done_at {{.timestamp}};
ALTER TABLE tasks ADD COLUMN done_by TEXT NOT NULL DEFAULT '';
UPDATE tasks SET due_at = created_at WHERE due_at IS NULL;
CREATE INDEX tasks_due ON tasks (due_at, id);

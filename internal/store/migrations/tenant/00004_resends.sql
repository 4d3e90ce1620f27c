-- +goose Up
-- How often a row was sent again after a doubt. resent is kept for nodes one
-- version older, which only ask whether.
ALTER TABLE outbox ADD COLUMN resends {{.bigint}} NOT NULL DEFAULT 0;
UPDATE outbox SET resends = 1 WHERE resent;

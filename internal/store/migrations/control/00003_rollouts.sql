-- +goose Up
-- How many of a role's conversations, in percent, are served by what is on trial.
CREATE TABLE rollouts (
    role       TEXT PRIMARY KEY,
    percent    {{.bigint}} NOT NULL CHECK (percent BETWEEN 0 AND 100),
    experiment TEXT NOT NULL,
    updated_at {{.timestamp}} NOT NULL
);

-- +goose Up
-- The address at which somebody's calendar program reads their bookings carries a
-- secret, of which only a hash is here.
CREATE TABLE calendar_links (
    staff_id   TEXT PRIMARY KEY REFERENCES staff (id),
    hash       TEXT NOT NULL UNIQUE,
    created_at {{.timestamp}} NOT NULL
);

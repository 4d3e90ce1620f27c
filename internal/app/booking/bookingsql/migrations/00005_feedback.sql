-- +goose Up
-- The conversation a booking was made in, so that what its customer says of the
-- visit can be told of that conversation.
ALTER TABLE bookings ADD COLUMN thread_id TEXT NOT NULL DEFAULT '';
ALTER TABLE bookings ADD COLUMN turn_id TEXT NOT NULL DEFAULT '';

-- What a customer said of a visit, with who answered them when they booked it:
-- prompts and canary arms as far as models were asked.
CREATE TABLE feedback (
    booking_id TEXT PRIMARY KEY REFERENCES bookings (id),
    contact_id TEXT NOT NULL,
    rating     TEXT NOT NULL CHECK (rating IN ('', 'up', 'down')),
    comment    TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    models     {{.json}} NOT NULL,
    at         {{.timestamp}} NOT NULL
);

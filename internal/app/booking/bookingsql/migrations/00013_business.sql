-- +goose Up
-- Reports read stretches of time: the whole calendar, or one person's.
CREATE INDEX bookings_in_reports ON bookings (starts_at, status, staff_id, price_minor, paid_minor);
CREATE INDEX bookings_by_staff ON bookings (staff_id, starts_at);

-- A service that the owner deleted stays removed whatever definition is applied.
ALTER TABLE services ADD COLUMN deleted_at {{.timestamp}};

-- Time that people of the business took from the calendar in a chat. The
-- definition's own time off is written anew with each version of it; this is not.
CREATE TABLE staff_blocks (
    id          TEXT PRIMARY KEY,
    staff_id    TEXT NOT NULL REFERENCES staff (id),
    from_moment TEXT NOT NULL,
    to_moment   TEXT NOT NULL,
    reason      TEXT NOT NULL,
    made_by     TEXT NOT NULL,
    created_at  {{.timestamp}} NOT NULL
);
CREATE INDEX staff_blocks_by_end ON staff_blocks (to_moment);

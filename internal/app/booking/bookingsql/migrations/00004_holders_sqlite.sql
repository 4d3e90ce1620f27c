-- +goose Up
-- Time is taken by a booking or by a group session: the column refers to either.
-- SQLite drops a reference only with its table.
DROP TRIGGER occupancy_insert;
DROP TRIGGER occupancy_update;
CREATE TABLE occupancy_by_holder (
    booking_id TEXT NOT NULL,
    subject    TEXT NOT NULL,
    starts_at  {{.timestamp}} NOT NULL,
    ends_at    {{.timestamp}} NOT NULL CHECK (ends_at > starts_at),
    PRIMARY KEY (booking_id, subject)
);
INSERT INTO occupancy_by_holder (booking_id, subject, starts_at, ends_at) SELECT booking_id, subject, starts_at, ends_at FROM occupancy;
DROP TABLE occupancy;
ALTER TABLE occupancy_by_holder RENAME TO occupancy;
CREATE INDEX occupancy_by_end ON occupancy (subject, ends_at, starts_at);

-- +goose StatementBegin
CREATE TRIGGER occupancy_insert BEFORE INSERT ON occupancy
WHEN EXISTS (
    SELECT 1 FROM occupancy o
    WHERE o.subject = NEW.subject AND o.booking_id <> NEW.booking_id
      AND o.ends_at > NEW.starts_at AND o.starts_at < NEW.ends_at
)
BEGIN
    SELECT RAISE(ABORT, 'ratiba:overlap');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER occupancy_update BEFORE UPDATE ON occupancy
WHEN EXISTS (
    SELECT 1 FROM occupancy o
    WHERE o.subject = NEW.subject AND o.booking_id <> NEW.booking_id
      AND o.ends_at > NEW.starts_at AND o.starts_at < NEW.ends_at
)
BEGIN
    SELECT RAISE(ABORT, 'ratiba:overlap');
END;
-- +goose StatementEnd

-- +goose Up
-- SQLite has no exclusion constraint. These triggers refuse what one would:
-- overlapping rows of one subject, a booking's own rows excepted. SQLite has a
-- single writer, so that nothing changes between the look and the row. ABORT
-- undoes the statement alone and leaves the transaction to its owner.

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

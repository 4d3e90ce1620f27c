-- +goose Up
-- Rows of one subject must not overlap, a booking's own rows excepted, so that
-- a move by half an hour does not collide with itself.
ALTER TABLE occupancy ADD CONSTRAINT occupancy_no_overlap
    EXCLUDE USING gist (subject WITH =, booking_id WITH <>, tstzrange(starts_at, ends_at, '[)') WITH &&);

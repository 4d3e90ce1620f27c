-- +goose Up
-- Time is taken by a booking or by a group session.
ALTER TABLE occupancy DROP CONSTRAINT occupancy_booking_id_fkey;

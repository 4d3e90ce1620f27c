-- +goose Up
-- Who waits for a start of a service on some days. An offer is a hold in their
-- name: nobody else is offered it, and it was free when it was offered.
CREATE TABLE waitlist (
    seq        {{.identity}},
    id         TEXT NOT NULL UNIQUE,
    contact_id TEXT NOT NULL,
    name       TEXT NOT NULL,
    service_id TEXT NOT NULL REFERENCES services (id),
    staff_id   TEXT NOT NULL,
    from_date  TEXT NOT NULL,
    to_date    TEXT NOT NULL,
    time_from  TEXT NOT NULL,
    time_to    TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('waiting', 'offered', 'booked', 'left', 'lapsed')),
    skips      {{.bigint}} NOT NULL,
    booking_id TEXT NOT NULL,
    joined_at  {{.timestamp}} NOT NULL
);
CREATE INDEX waitlist_waiting ON waitlist (skips, seq) WHERE status = 'waiting';
CREATE INDEX waitlist_by_contact ON waitlist (contact_id);
CREATE INDEX waitlist_by_offer ON waitlist (booking_id) WHERE status = 'offered';

-- A start is offered to the same person once.
CREATE TABLE waitlist_offers (
    wait_id    TEXT NOT NULL REFERENCES waitlist (id),
    starts_at  {{.timestamp}} NOT NULL,
    staff_id   TEXT NOT NULL,
    offered_at {{.timestamp}} NOT NULL,
    PRIMARY KEY (wait_id, starts_at, staff_id)
);

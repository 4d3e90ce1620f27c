-- +goose Up
-- Rooms, chairs and machines: reserved together with staff.
CREATE TABLE resources (
    id       TEXT PRIMARY KEY,
    position {{.bigint}} NOT NULL,
    name     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    removed  {{.bool}} NOT NULL
);

-- What may meet a service's needs, as subjects of occupancy: these rows are
-- locked before their time is looked at.
CREATE TABLE service_resources (
    service_id TEXT NOT NULL REFERENCES services (id),
    subject    TEXT NOT NULL,
    PRIMARY KEY (service_id, subject)
);

-- Time that cannot be booked: a stretch of the calendar, or the same hours every
-- week. The subject is a member of staff, a resource (as in occupancy) or, when
-- empty, the whole business. What the definition says is written anew with it;
-- what people added at the desk stays.
CREATE TABLE blocks (
    id          TEXT PRIMARY KEY,
    origin      TEXT NOT NULL CHECK (origin IN ('definition', 'desk')),
    subject     TEXT NOT NULL,
    weekday     {{.bigint}} CHECK (weekday BETWEEN 0 AND 6),
    opens       {{.bigint}} CHECK (opens BETWEEN 0 AND 1439),
    closes      {{.bigint}} CHECK (closes BETWEEN 0 AND 1440),
    from_moment TEXT,
    to_moment   TEXT,
    note        TEXT NOT NULL,
    CHECK ((weekday IS NULL) = (from_moment IS NOT NULL AND to_moment IS NOT NULL))
);

ALTER TABLE services ADD COLUMN capacity {{.bigint}} NOT NULL DEFAULT 1;
ALTER TABLE services ADD COLUMN needs {{.json}};
ALTER TABLE services ADD COLUMN day_interval {{.json}};
ALTER TABLE services ADD COLUMN starts {{.json}};

-- Terms are copied from the policy onto each booking. Of a booking from before
-- there were any, only the cut-off is known.
ALTER TABLE booking_policy ADD COLUMN terms {{.json}};
ALTER TABLE booking_policy ADD COLUMN offer_minutes {{.bigint}} NOT NULL DEFAULT 15;
ALTER TABLE bookings ADD COLUMN terms {{.json}};
ALTER TABLE bookings ADD COLUMN resources {{.json}};
ALTER TABLE bookings ADD COLUMN moves {{.bigint}} NOT NULL DEFAULT 0;
ALTER TABLE bookings ADD COLUMN refund_minor {{.bigint}} NOT NULL DEFAULT 0;
ALTER TABLE bookings ADD COLUMN wait_id TEXT NOT NULL DEFAULT '';
ALTER TABLE bookings ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
CREATE INDEX bookings_by_session ON bookings (session_id) WHERE session_id <> '';
CREATE INDEX bookings_by_hold ON bookings (hold_until) WHERE status IN ('held', 'pending_payment');
CREATE INDEX bookings_by_start ON bookings (starts_at);

-- A start of a group service somebody has booked. It occupies its staff and
-- resources once, and seats are counted: the check is the last guard.
CREATE TABLE group_sessions (
    id         TEXT PRIMARY KEY,
    service_id TEXT NOT NULL REFERENCES services (id),
    staff_id   TEXT NOT NULL REFERENCES staff (id),
    starts_at  {{.timestamp}} NOT NULL,
    capacity   {{.bigint}} NOT NULL,
    taken      {{.bigint}} NOT NULL CHECK (taken >= 0 AND taken <= capacity),
    UNIQUE (staff_id, service_id, starts_at)
);

-- +goose Up
-- The definition: written whole by Apply, so that a removed row is hidden, not deleted.
CREATE TABLE booking_policy (
    id             {{.bigint}} PRIMARY KEY CHECK (id = 1),
    notice_minutes {{.bigint}} NOT NULL CHECK (notice_minutes >= 0),
    horizon_days   {{.bigint}} NOT NULL CHECK (horizon_days >= 0),
    cancel_minutes {{.bigint}} NOT NULL CHECK (cancel_minutes >= 0),
    hold_minutes   {{.bigint}} NOT NULL CHECK (hold_minutes > 0),
    max_holds      {{.bigint}} NOT NULL CHECK (max_holds > 0),
    applied_at     {{.timestamp}} NOT NULL
);

CREATE TABLE services (
    id            TEXT PRIMARY KEY,
    position      {{.bigint}} NOT NULL,
    name          {{.json}} NOT NULL,
    aliases       {{.json}} NOT NULL,
    description   {{.json}} NOT NULL,
    minutes       {{.bigint}} NOT NULL CHECK (minutes > 0),
    buffer_before {{.bigint}} NOT NULL CHECK (buffer_before >= 0),
    buffer_after  {{.bigint}} NOT NULL CHECK (buffer_after >= 0),
    interval_minutes {{.bigint}} NOT NULL CHECK (interval_minutes > 0),
    price_minor   {{.bigint}} NOT NULL CHECK (price_minor >= 0),
    deposit_minor {{.bigint}} NOT NULL CHECK (deposit_minor >= 0),
    currency      TEXT NOT NULL,
    hidden        {{.bool}} NOT NULL,
    removed       {{.bool}} NOT NULL
);

CREATE TABLE staff (
    id       TEXT PRIMARY KEY,
    position {{.bigint}} NOT NULL,
    name     TEXT NOT NULL,
    aliases  {{.json}} NOT NULL,
    removed  {{.bool}} NOT NULL
);

CREATE TABLE service_staff (
    service_id TEXT NOT NULL REFERENCES services (id),
    staff_id   TEXT NOT NULL REFERENCES staff (id),
    PRIMARY KEY (service_id, staff_id)
);

-- Civil times are the business's wall clock: minutes after midnight, dates and
-- moments as text. They become instants in its zone when they are read.
CREATE TABLE staff_hours (
    staff_id TEXT NOT NULL REFERENCES staff (id),
    weekday  {{.bigint}} NOT NULL CHECK (weekday BETWEEN 0 AND 6),
    opens    {{.bigint}} NOT NULL CHECK (opens BETWEEN 0 AND 1439),
    closes   {{.bigint}} NOT NULL CHECK (closes BETWEEN 0 AND 1440),
    PRIMARY KEY (staff_id, weekday, opens)
);

-- One row per stretch of work; a date off is one row without times.
CREATE TABLE staff_exceptions (
    staff_id TEXT NOT NULL REFERENCES staff (id),
    on_date  TEXT NOT NULL,
    opens    {{.bigint}} CHECK (opens BETWEEN 0 AND 1439),
    closes   {{.bigint}} CHECK (closes BETWEEN 0 AND 1440)
);
CREATE INDEX staff_exceptions_by_date ON staff_exceptions (on_date);

CREATE TABLE time_off (
    staff_id    TEXT NOT NULL REFERENCES staff (id),
    from_moment TEXT NOT NULL,
    to_moment   TEXT NOT NULL
);
CREATE INDEX time_off_by_end ON time_off (to_moment);

CREATE TABLE closures (
    from_moment TEXT NOT NULL,
    to_moment   TEXT NOT NULL,
    name        {{.json}} NOT NULL
);

-- What was agreed is kept on the booking: lengths, money and the cut-off do not
-- follow later changes of the definition.
CREATE TABLE bookings (
    id             TEXT PRIMARY KEY,
    code           TEXT NOT NULL UNIQUE,
    contact_id     TEXT NOT NULL,
    name           TEXT NOT NULL,
    service_id     TEXT NOT NULL REFERENCES services (id),
    staff_id       TEXT NOT NULL REFERENCES staff (id),
    starts_at      {{.timestamp}} NOT NULL,
    ends_at        {{.timestamp}} NOT NULL CHECK (ends_at > starts_at),
    buffer_before  {{.bigint}} NOT NULL,
    buffer_after   {{.bigint}} NOT NULL,
    status         TEXT NOT NULL CHECK (status IN
        ('held', 'pending_payment', 'confirmed', 'completed', 'cancelled', 'no_show', 'expired')),
    price_minor    {{.bigint}} NOT NULL,
    deposit_minor  {{.bigint}} NOT NULL,
    paid_minor     {{.bigint}} NOT NULL,
    currency       TEXT NOT NULL,
    receipt        TEXT NOT NULL,
    hold_until     {{.timestamp}},
    cancel_minutes {{.bigint}} NOT NULL,
    version        {{.bigint}} NOT NULL,
    created_at     {{.timestamp}} NOT NULL,
    updated_at     {{.timestamp}} NOT NULL
);
CREATE INDEX bookings_by_contact ON bookings (contact_id, starts_at);
CREATE INDEX bookings_held ON bookings (staff_id, hold_until) WHERE status IN ('held', 'pending_payment');

-- A row is time taken from a subject (a member of staff), buffers included. It
-- exists exactly as long as the booking keeps that time.
CREATE TABLE occupancy (
    booking_id TEXT NOT NULL REFERENCES bookings (id),
    subject    TEXT NOT NULL,
    starts_at  {{.timestamp}} NOT NULL,
    ends_at    {{.timestamp}} NOT NULL CHECK (ends_at > starts_at),
    PRIMARY KEY (booking_id, subject)
);
CREATE INDEX occupancy_by_end ON occupancy (subject, ends_at, starts_at);

CREATE TABLE booking_history (
    booking_id TEXT NOT NULL REFERENCES bookings (id),
    version    {{.bigint}} NOT NULL,
    event      TEXT NOT NULL,
    status     TEXT NOT NULL,
    staff_id   TEXT NOT NULL,
    starts_at  {{.timestamp}} NOT NULL,
    detail     TEXT NOT NULL,
    at         {{.timestamp}} NOT NULL,
    PRIMARY KEY (booking_id, version)
);

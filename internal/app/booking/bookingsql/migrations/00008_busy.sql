-- +goose Up
-- When members of staff are busy by calendars of their own, as they were last
-- read. The address of a calendar is a secret and is not here.
CREATE TABLE busy_calendars (
    staff_id   TEXT PRIMARY KEY REFERENCES staff (id),
    tag        TEXT NOT NULL,
    checked_at {{.timestamp}} NOT NULL,
    read_at    {{.timestamp}},
    problem    TEXT NOT NULL
);
CREATE TABLE busy_times (
    staff_id  TEXT NOT NULL REFERENCES staff (id),
    starts_at {{.timestamp}} NOT NULL,
    ends_at   {{.timestamp}} NOT NULL CHECK (ends_at > starts_at)
);
CREATE INDEX busy_times_by_end ON busy_times (ends_at, starts_at);

-- +goose Up
CREATE TABLE tenants (
    id         TEXT PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    route      TEXT NOT NULL UNIQUE,
    definition {{.json}} NOT NULL,
    version    {{.bigint}} NOT NULL,
    updated_at {{.timestamp}} NOT NULL
);

CREATE TABLE numbers (
    provider  TEXT NOT NULL,
    id        TEXT NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    PRIMARY KEY (provider, id)
);

CREATE TABLE quarantine (
    seq    {{.identity}},
    source TEXT NOT NULL,
    reason TEXT NOT NULL,
    body   {{.bytes}} NOT NULL,
    at     {{.timestamp}} NOT NULL
);

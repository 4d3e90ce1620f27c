-- +goose Up
CREATE TABLE contacts (
    id              TEXT PRIMARY KEY,
    name            TEXT NOT NULL DEFAULT '',
    profile         TEXT NOT NULL DEFAULT '',
    language        TEXT NOT NULL DEFAULT '',
    payer_phone     TEXT NOT NULL DEFAULT '',
    last_inbound_at {{.timestamp}},
    created_at      {{.timestamp}} NOT NULL
);

CREATE TABLE contact_identities (
    kind       TEXT NOT NULL,
    value      TEXT NOT NULL,
    contact_id TEXT NOT NULL REFERENCES contacts (id),
    PRIMARY KEY (kind, value)
);
CREATE INDEX contact_identities_contact ON contact_identities (contact_id);

CREATE TABLE mailboxes (
    key         TEXT PRIMARY KEY,
    due_at      {{.timestamp}},
    lease_token TEXT NOT NULL DEFAULT '',
    lease_until {{.timestamp}},
    wake_seq    {{.bigint}} NOT NULL DEFAULT 0,
    tries       {{.bigint}} NOT NULL DEFAULT 0,
    crashes     {{.bigint}} NOT NULL DEFAULT 0
);
CREATE INDEX mailboxes_due ON mailboxes (due_at);

CREATE TABLE inbox (
    seq         {{.identity}},
    mailbox_key TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('message', 'event')),
    dedupe_key  TEXT NOT NULL,
    payload     {{.json}} NOT NULL,
    received_at {{.timestamp}} NOT NULL,
    done_at     {{.timestamp}},
    turn_id     TEXT NOT NULL DEFAULT '',
    UNIQUE (dedupe_key)
);
CREATE INDEX inbox_open ON inbox (mailbox_key, seq) WHERE done_at IS NULL;

CREATE TABLE timers (
    mailbox_key TEXT NOT NULL,
    scope       TEXT NOT NULL,
    name        TEXT NOT NULL,
    due_at      {{.timestamp}} NOT NULL,
    data        {{.json}},
    PRIMARY KEY (mailbox_key, scope, name)
);
CREATE INDEX timers_due ON timers (due_at);

CREATE TABLE conversation_threads (
    id            TEXT PRIMARY KEY,
    mailbox_key   TEXT NOT NULL,
    contact_id    TEXT NOT NULL REFERENCES contacts (id),
    actor_type    TEXT NOT NULL CHECK (actor_type IN ('customer', 'admin', 'task')),
    app           TEXT NOT NULL,
    graph_version {{.bigint}} NOT NULL,
    node          TEXT NOT NULL,
    state         {{.json}} NOT NULL,
    driver        TEXT NOT NULL CHECK (driver IN ('AGENT_DRIVING', 'SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING', 'RESUMED_BY_AGENT')),
    handoff       {{.json}},
    language      TEXT NOT NULL,
    disclosed     {{.bool}} NOT NULL,
    counters      {{.json}} NOT NULL,
    pending       {{.json}},
    version       {{.bigint}} NOT NULL,
    epoch         {{.bigint}} NOT NULL,
    opened_at     {{.timestamp}} NOT NULL,
    last_at       {{.timestamp}} NOT NULL,
    closed_at     {{.timestamp}}
);
CREATE UNIQUE INDEX conversation_threads_open ON conversation_threads (mailbox_key, actor_type) WHERE closed_at IS NULL;

CREATE TABLE transcript (
    seq         {{.identity}},
    thread_id   TEXT NOT NULL REFERENCES conversation_threads (id),
    turn_id     TEXT NOT NULL,
    direction   TEXT NOT NULL CHECK (direction IN ('in', 'out')),
    origin      TEXT NOT NULL,
    body        {{.json}} NOT NULL,
    provider_id TEXT NOT NULL DEFAULT '',
    at          {{.timestamp}} NOT NULL
);
CREATE INDEX transcript_thread ON transcript (thread_id, seq);

CREATE TABLE turns (
    id           TEXT PRIMARY KEY,
    mailbox_key  TEXT NOT NULL,
    thread_id    TEXT NOT NULL,
    inputs       TEXT NOT NULL,
    digest       TEXT NOT NULL,
    started_at   {{.timestamp}} NOT NULL,
    committed_at {{.timestamp}} NOT NULL
);
CREATE INDEX turns_thread ON turns (thread_id, id);

CREATE TABLE outbox (
    seq             {{.identity}},
    id              TEXT NOT NULL UNIQUE,
    lane            TEXT NOT NULL,
    kind            TEXT NOT NULL,
    origin          TEXT NOT NULL CHECK (origin IN ('agent', 'reminder', 'payment', 'relay', 'system')),
    idempotency_key TEXT NOT NULL UNIQUE,
    contact_id      TEXT NOT NULL,
    thread_id       TEXT NOT NULL DEFAULT '',
    turn_id         TEXT NOT NULL DEFAULT '',
    epoch           {{.bigint}} NOT NULL DEFAULT 0,
    payload         {{.json}} NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'doubt', 'sent', 'failed', 'silenced', 'stale')),
    tries           {{.bigint}} NOT NULL DEFAULT 0,
    resent          {{.bool}} NOT NULL DEFAULT FALSE,
    due_at          {{.timestamp}} NOT NULL,
    expires_at      {{.timestamp}},
    provider_id     TEXT NOT NULL DEFAULT '',
    status          TEXT NOT NULL DEFAULT '',
    status_at       {{.timestamp}},
    error_class     TEXT NOT NULL DEFAULT '',
    error_code      {{.bigint}} NOT NULL DEFAULT 0,
    error_detail    TEXT NOT NULL DEFAULT '',
    created_at      {{.timestamp}} NOT NULL,
    sent_at         {{.timestamp}}
);
CREATE INDEX outbox_open ON outbox (lane, seq) WHERE state IN ('queued', 'sending', 'doubt');
CREATE INDEX outbox_due ON outbox (due_at) WHERE state IN ('queued', 'sending', 'doubt');
CREATE UNIQUE INDEX outbox_provider ON outbox (provider_id) WHERE provider_id <> '';

CREATE TABLE tool_calls (
    seq       {{.identity}},
    turn_id   TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    tool      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    args      {{.json}} NOT NULL,
    ok        {{.bool}} NOT NULL,
    code      TEXT NOT NULL,
    result    {{.json}},
    at        {{.timestamp}} NOT NULL
);
CREATE INDEX tool_calls_turn ON tool_calls (turn_id);

CREATE TABLE tasks (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    task_key   TEXT NOT NULL UNIQUE,
    thread_id  TEXT NOT NULL DEFAULT '',
    contact_id TEXT NOT NULL DEFAULT '',
    detail     TEXT NOT NULL,
    owner      TEXT NOT NULL DEFAULT '',
    state      TEXT NOT NULL DEFAULT 'open',
    due_at     {{.timestamp}},
    created_at {{.timestamp}} NOT NULL
);

CREATE TABLE payment_attempts (
    id          TEXT PRIMARY KEY,
    thread_id   TEXT NOT NULL,
    contact_id  TEXT NOT NULL,
    subject     TEXT NOT NULL,
    provider    TEXT NOT NULL,
    reference   TEXT NOT NULL UNIQUE,
    account     TEXT NOT NULL,
    amount      {{.bigint}} NOT NULL CHECK (amount > 0),
    currency    TEXT NOT NULL,
    phone       TEXT NOT NULL,
    token_hash  TEXT,
    merchant_id TEXT NOT NULL DEFAULT '',
    checkout_id TEXT,
    status      TEXT NOT NULL,
    outcome     TEXT NOT NULL DEFAULT '',
    receipt     TEXT,
    surplus     {{.json}},
    queries     {{.bigint}} NOT NULL DEFAULT 0,
    created_at  {{.timestamp}} NOT NULL,
    sent_at     {{.timestamp}},
    settled_at  {{.timestamp}},
    UNIQUE (token_hash),
    UNIQUE (checkout_id),
    UNIQUE (receipt)
);
CREATE INDEX payment_attempts_subject ON payment_attempts (subject, created_at);

CREATE TABLE llm_calls (
    id             TEXT PRIMARY KEY,
    role           TEXT NOT NULL,
    thread_id      TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    tier           {{.bigint}} NOT NULL,
    provider       TEXT NOT NULL,
    model          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    tokens_in      {{.bigint}} NOT NULL,
    tokens_cached  {{.bigint}} NOT NULL,
    tokens_written {{.bigint}} NOT NULL,
    tokens_out     {{.bigint}} NOT NULL,
    estimated      {{.bool}} NOT NULL,
    cost_pico      {{.bigint}} NOT NULL,
    latency_us     {{.bigint}} NOT NULL,
    outcome        TEXT NOT NULL,
    confidence     {{.real}},
    canary_arm     TEXT NOT NULL,
    account        TEXT NOT NULL,
    task_id        TEXT,
    step           TEXT,
    answer         TEXT NOT NULL,
    request_hash   TEXT NOT NULL,
    failure_signal TEXT NOT NULL,
    at             {{.timestamp}} NOT NULL
);
CREATE INDEX llm_calls_hash ON llm_calls (request_hash);
CREATE INDEX llm_calls_thread ON llm_calls (thread_id);
CREATE INDEX llm_calls_turn ON llm_calls (turn_id);

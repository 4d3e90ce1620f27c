-- +goose Up
-- The business number a contact last wrote to, which every turn needs.
ALTER TABLE contacts ADD COLUMN last_number TEXT NOT NULL DEFAULT '';

CREATE INDEX payment_attempts_open ON payment_attempts (thread_id) WHERE status IN ('created', 'sending', 'prompted', 'unknown');
CREATE INDEX payment_attempts_phone ON payment_attempts (phone);
CREATE INDEX conversation_threads_human ON conversation_threads (last_at)
    WHERE closed_at IS NULL AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING');

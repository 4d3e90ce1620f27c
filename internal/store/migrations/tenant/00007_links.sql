-- +goose Up
-- A link to pay by ends with what it pays for. ask_at is when the provider is
-- to be asked because somebody claimed that there is news, asked_at when it was
-- asked last: whoever claims it again and again is not heard more often.
ALTER TABLE payment_attempts ADD COLUMN expires_at {{.timestamp}};
ALTER TABLE payment_attempts ADD COLUMN ask_at {{.timestamp}};
ALTER TABLE payment_attempts ADD COLUMN asked_at {{.timestamp}};

-- +goose Up
-- A payment is returned once at most: its refund is part of its row. The token
-- is the hash of the secret that the refund's result comes with.
ALTER TABLE payment_attempts ADD COLUMN refund {{.json}};
ALTER TABLE payment_attempts ADD COLUMN refund_token TEXT;
CREATE UNIQUE INDEX payment_attempts_refund_token ON payment_attempts (refund_token);

-- +goose Up
CREATE INDEX documents_words ON documents USING gin (to_tsvector('simple', title || ' ' || body));
CREATE INDEX documents_trigrams ON documents USING gin ((title || ' ' || body) gin_trgm_ops);

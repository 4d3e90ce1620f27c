-- +goose Up
-- The index of documents. It repeats them, and is made of them again by whatever
-- writes them.
CREATE VIRTUAL TABLE fts_documents USING fts5(title, body, doc_key UNINDEXED, part UNINDEXED, tokenize = 'unicode61 remove_diacritics 2', prefix = '3');

-- +goose StatementBegin
CREATE TRIGGER documents_insert AFTER INSERT ON documents
BEGIN
    INSERT INTO fts_documents (title, body, doc_key, part) VALUES (NEW.title, NEW.body, NEW.doc_key, NEW.part);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER documents_delete AFTER DELETE ON documents
BEGIN
    DELETE FROM fts_documents WHERE doc_key = OLD.doc_key AND part = OLD.part;
END;
-- +goose StatementEnd

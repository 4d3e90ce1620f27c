package db

import "strings"

// FullText is the query, and its first two arguments, that finds rows of the
// table documents by words: those that hold most of them first, a title
// weighing more. Words must be letters and digits alone. The third argument is
// how many rows. It answers doc_key, part, title and body.
func (d Dialect) FullText(words []string) (query string, args []any) {
	if d.Name == PostgreSQL().Name {
		terms := make([]string, len(words))
		for i, w := range words {
			terms[i] = w + ":*"
		}
		return `SELECT doc_key, part, title, body FROM (
			SELECT doc_key, part, title, body, ts_rank(setweight(to_tsvector('simple', title), 'A') || to_tsvector('simple', body), to_tsquery('simple', $1)) AS rank,
				word_similarity($2, title || ' ' || body) AS likeness
			FROM documents WHERE to_tsvector('simple', title || ' ' || body) @@ to_tsquery('simple', $1) OR $2 <% (title || ' ' || body)
		) found ORDER BY rank DESC, likeness DESC, doc_key, part LIMIT $3`, []any{strings.Join(terms, " | "), strings.Join(words, " ")}
	}
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = `"` + w + `"*`
	}
	return `SELECT doc_key, part, title, body FROM fts_documents WHERE fts_documents MATCH $1 AND $2 <> ''
		ORDER BY bm25(fts_documents, 4.0, 1.0), doc_key, part LIMIT $3`, []any{strings.Join(terms, " OR "), strings.Join(words, " ")}
}

package store

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/retrieve"
)

// Documents is a tenant's full-text index inside the caller's transaction. It
// implements retrieve.Index.
type Documents struct{}

// Search implements retrieve.Index.
func (Documents) Search(ctx context.Context, q db.Q, words []string, limit int) ([]retrieve.Passage, error) {
	if len(words) == 0 {
		return nil, nil
	}
	query, args := q.Dialect().FullText(words)
	return db.Collect(ctx, q, "search documents", func(row db.Scanner) (p retrieve.Passage, err error) {
		return p, row.Scan(&p.Document, &p.Part, &p.Title, &p.Text)
	}, query, append(args, limit)...)
}

// Replace implements retrieve.Index.
func (Documents) Replace(ctx context.Context, tx db.Tx, d retrieve.Document, now time.Time) error {
	if err := db.Exec(ctx, tx, "remove document", "DELETE FROM documents WHERE doc_key = $1", d.Key); err != nil {
		return err
	}
	for _, p := range d.Passages() {
		if err := db.Exec(ctx, tx, "write document", "INSERT INTO documents (doc_key, part, title, body, updated_at) VALUES ($1, $2, $3, $4, $5)",
			p.Document, p.Part, p.Title, p.Text, db.At(now)); err != nil {
			return err
		}
	}
	return nil
}

// Listed is a document as it is listed.
type Listed struct {
	Key       string    `json:"key"`
	Title     string    `json:"title"`
	Passages  int       `json:"passages"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Documents lists a tenant's documents, by key.
func (t *Tenant) Documents(ctx context.Context) (out []Listed, err error) {
	err = t.Read(ctx, func(q db.Q) error {
		out, err = db.Collect(ctx, q, "list documents", func(row db.Scanner) (l Listed, err error) {
			var at db.Time
			err = row.Scan(&l.Key, &l.Title, &l.Passages, &at)
			l.UpdatedAt = at.Time
			return l, err
		}, "SELECT doc_key, MIN(title), COUNT(*), MAX(updated_at) FROM documents GROUP BY doc_key ORDER BY doc_key")
		return err
	})
	return out, err
}

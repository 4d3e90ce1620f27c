package eval

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratiba/ratiba/internal/golden"
)

// Converse replays the conversation scripts of a folder, each on a store of its
// own below work, and returns the share of customers' turns that were answered
// without a model. Whether the conversations went as they must is the golden
// suite's to say.
func Converse(ctx context.Context, files fs.FS, dir, work string) (Share, error) {
	scripts, err := golden.Load(files, dir)
	if err != nil {
		return Share{}, fmt.Errorf("eval: read the conversation scripts: %w", err)
	}
	var turns, alone int
	var seen golden.Edges
	for _, s := range scripts {
		into := filepath.Join(work, s.ID)
		if err := os.Mkdir(into, 0o700); err != nil {
			return Share{}, fmt.Errorf("eval: make room for a conversation: %w", err)
		}
		r, err := golden.Play(ctx, s, into, &seen, io.Discard)
		if err != nil {
			return Share{}, fmt.Errorf("eval: replay %s: %w", s.ID, err)
		}
		turns, alone = turns+r.Turns, alone+r.Tier0
	}
	return NewShare(alone, turns), nil
}

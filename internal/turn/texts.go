package turn

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/ratiba/ratiba/internal/wording"
)

//go:embed texts/en.yaml texts/sw.yaml
var platformTexts embed.FS

// Texts loads what the platform itself says, whatever the app.
func Texts() (*wording.Catalogue, error) {
	files, err := fs.Sub(platformTexts, "texts")
	if err != nil {
		return nil, fmt.Errorf("open platform texts: %w", err)
	}
	return wording.Load(files)
}

package extraction

import (
	"embed"
	"io/fs"
)

//go:embed blind/guide.md
var blindGuide string

//go:embed blind/*.txt blind/*.json
var blindFiles embed.FS

// blindTemplates are examples of an outsider's documents.
func blindTemplates() fs.FS {
	templates, err := fs.Sub(blindFiles, "blind")
	if err != nil {
		panic("extraction: " + err.Error()) // the name is a constant
	}
	return templates
}

package dataset

import (
	"encoding/json"
	"fmt"
	"io"
)

// EncodeLines writes a list as JSON Lines. Characters of HTML stay as they are.
func EncodeLines[T any](list []T) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for i := range list {
			if err := e.Encode(list[i]); err != nil {
				return fmt.Errorf("writing line %d: %w", i+1, err)
			}
		}
		return nil
	}
}

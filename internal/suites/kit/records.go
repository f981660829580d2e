package kit

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
)

// Records reads the records of a file of a study, as [table.Records] does, and adds what is
// wrong with one, by its form or by take, with its line. It returns why the file cannot be read.
func Records[T any](path string, texts table.Texts, errs *study.Errors, take func(line int, r *T) error) error {
	_, err := table.Records(path, texts, func(line int, data []byte, err error) {
		var r T
		if err == nil {
			err = dataset.DecodeStrict(data, &r)
		}
		if err == nil {
			err = take(line, &r)
		}
		if err != nil {
			errs.Add(fmt.Errorf("%s:%d: %w", path, line, err))
		}
	})
	return err
}

package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/discipline"
)

// RecordBlind appends the result of a blind validation, made by an outsider on private
// data, to the ledger of the study. Rules read it from then on.
func (x *Experiment) RecordBlind(file, by string) (r analyse.BlindResult, err error) {
	var read analyse.BlindFile
	if err := dataset.ReadJSON(file, &read); err != nil {
		return r, fmt.Errorf("reading the result of a blind validation: %w", err)
	}
	r = read.BlindResult
	if err := checkBlind(read.Format, r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	desk, err := x.desk(by)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	for _, e := range desk.Book.Blind {
		var was analyse.BlindResult
		if err := e.Data.Decode(&was); err != nil {
			return r, err
		}
		if e.Data.Study == x.Study.Name && was.Data == r.Data {
			return r, notAllowed("the result of these data is entry %d of the ledger already: a blind validation runs once", e.Seq)
		}
	}
	return r, desk.AddBlind(x.Study.Name, r)
}

func checkBlind(format string, r analyse.BlindResult) error {
	switch {
	case format != analyse.BlindFormat:
		return fmt.Errorf("format is %q: want %q", format, analyse.BlindFormat)
	case strings.TrimSpace(r.By) == "":
		return errors.New("by is missing: want who ran it")
	case len(r.Data) != 64:
		return fmt.Errorf("data_sha256 is %q: want the 64 digits that were committed before the run", r.Data)
	case len(r.Comparisons) == 0:
		return errors.New("the file has no comparisons")
	}
	if !slices.ContainsFunc(r.Comparisons, func(c analyse.BlindComparison) bool { return c.Diff.Defined() }) {
		return errors.New("no comparison has a difference")
	}
	for i, c := range r.Comparisons {
		if c.A == "" || c.B == "" || c.Metric == "" { // a difference may be undefined
			return fmt.Errorf("comparisons[%d]: want a, b and metric", i)
		}
	}
	return nil
}

// blindResults reads the results of blind validations of a study.
func blindResults(book discipline.Book, study string) ([]analyse.BlindResult, error) {
	var list []analyse.BlindResult
	for _, e := range book.Blind {
		if e.Data.Study != study {
			continue
		}
		var r analyse.BlindResult
		if err := e.Data.Decode(&r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

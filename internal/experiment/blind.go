package experiment

import (
	"encoding/hex"
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
	mine := x.owner()
	if !slices.ContainsFunc(desk.Book.Kits, func(k discipline.Entry[discipline.Kit]) bool { return k.Data.Is(mine) && k.Data.Digest == r.Kit }) {
		return r, notAllowed("the result is of the kit with SHA-256 %s, which the ledger %s does not have: a result counts if it is of a kit that `scruple kit build` made of this study, unchanged", r.Kit, desk.Book.Path)
	}
	if !slices.ContainsFunc(desk.Book.Commitments, func(c discipline.Entry[discipline.Commitment]) bool { return c.Data.Is(mine) && c.Data.Data == r.Data }) {
		return r, notAllowed("the result is of data with SHA-256 %s, to which nobody committed: record the hash that the outsider sent before the run with `scruple ledger commit`", r.Data)
	}
	for _, e := range desk.Book.Blind {
		var was analyse.BlindResult
		if err := e.Data.Decode(&was); err != nil {
			return r, err
		}
		if e.Data.Is(mine) && was.Data == r.Data {
			return r, notAllowed("the result of these data is entry %d of the ledger already: a blind validation runs once", e.Seq)
		}
	}
	return r, desk.AddBlind(mine, r)
}

// RecordKit appends a kit that was made of the study to its ledger.
func (x *Experiment) RecordKit(digest string, files []string, by string) (err error) {
	desk, err := x.desk(by)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	return desk.AddKit(discipline.Kit{Owner: x.owner(), Digest: digest, Files: files})
}

// RecordCommitment appends the hash to which an outsider committed, before they run
// their kit.
func (x *Experiment) RecordCommitment(data, who, by string) (err error) {
	if !isSum(data) {
		return fmt.Errorf("commitment %q: want the 64 digits that `scruple kit commit` printed", data)
	}
	if strings.TrimSpace(who) == "" {
		return errors.New("say who committed with --from")
	}
	desk, err := x.desk(by)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	mine := x.owner()
	if len(desk.Book.Kits) == 0 {
		return notAllowed("the ledger %s has no kit of this study: make one with `scruple kit build`", desk.Book.Path)
	}
	for _, c := range desk.Book.Commitments {
		if c.Data.Is(mine) && c.Data.Data == data {
			return notAllowed("this commitment is entry %d of the ledger already", c.Seq)
		}
	}
	return desk.Commit(discipline.Commitment{Owner: mine, Data: data, Who: strings.TrimSpace(who)})
}

// isSum reports whether a text is a SHA-256 in hexadecimal.
func isSum(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64
}

func checkBlind(format string, r analyse.BlindResult) error {
	switch {
	case format != analyse.BlindFormat:
		return fmt.Errorf("format is %q: want %q", format, analyse.BlindFormat)
	case strings.TrimSpace(r.By) == "":
		return errors.New("by is missing: want who ran it")
	case !isSum(r.Kit):
		return fmt.Errorf("kit_sha256 is %q: want the 64 digits of the kit", r.Kit)
	case !isSum(r.Data):
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
func blindResults(book discipline.Book, study discipline.Owner) ([]analyse.BlindResult, error) {
	var list []analyse.BlindResult
	for _, e := range book.Blind {
		if !e.Data.Is(study) {
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

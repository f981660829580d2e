package discipline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// Of is what the ledger says of a run, for its report; nil for a run
// without a split.
func Of(book Book, r *store.Run) *analyse.Discipline {
	split := r.Split()
	d := &analyse.Discipline{}
	entry, ok := book.Test(KeyOf(r))
	revisions, unblindings := book.Of(book.owners(KeyOf(r))...)
	for _, v := range revisions {
		after := v.Data.After
		if ok && after == "" && v.At > entry.At && book.apart(v.Hash, entry.Hash) {
			after = entry.Data.Run // of which nobody knew there
		}
		d.Revisions = append(d.Revisions, analyse.Revision{Date: Day(v.At), Hypothesis: v.Data.Hypothesis, Change: v.Data.Change, After: after})
	}
	for _, u := range unblindings {
		d.Unblindings = append(d.Unblindings, analyse.Unblinding{Date: Day(u.At), By: u.By, Reason: u.Data.Reason, Changes: u.Data.Changes})
	}
	switch {
	case split == "" && len(d.Unblindings) == 0:
		return nil
	case split != study.SplitTest:
		return d
	}
	if !ok {
		d.Problem = "the ledger beside the study has no entry of this TEST run: it was moved or removed, and nothing shows what was registered"
		return d
	}
	d.Budget = slices.Clone(entry.Data.Budget)
	for _, t := range book.Others(entry) {
		d.Others = append(d.Others, analyse.OtherTest{Study: t.Data.Study, Run: t.Data.Run, Date: Day(t.At), Entry: t.Seq, Arms: t.Data.Shared(entry.Data)})
	}
	times := book.registrations(entry)
	if g, ok := last(times); ok {
		d.Registration = &analyse.Registration{Date: Day(g.At), By: g.By, SHA256: g.Data.Digest, Entry: g.Seq, EntryHash: g.Hash, Test: g.Data.Test, Times: len(times), Unknown: g.Data.unknown()}
	}
	return d
}

// RecordBlind appends the result of a blind validation, made by an outsider on private
// data, to the ledger of the study. Rules read it from then on.
func (s *Subject) RecordBlind(file, by string) (r analyse.BlindResult, err error) {
	var read analyse.BlindFile
	if err := dataset.ReadJSON(file, &read); err != nil {
		return r, fmt.Errorf("reading the result of a blind validation: %w", err)
	}
	r = read.BlindResult
	if err := read.Check(); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	if _, err := time.Parse(time.RFC3339Nano, r.BeganAt); r.BeganAt != "" && (err != nil || !strings.HasSuffix(r.BeganAt, "Z")) {
		return r, fmt.Errorf("%s: began_at is %q: want a time in UTC, such as 2026-11-20T10:04:05Z", file, r.BeganAt)
	}
	for i, c := range r.Comparisons {
		m, ok := s.Compares(c.A, c.B, c.Metric)
		if !ok {
			return r, fmt.Errorf("%s: comparisons[%d]: the study does not compare %q and %q on %q: if the kit was built with other settings, give them with -o", file, i, c.A, c.B, c.Metric)
		}
		beyond := func(d analyse.Number) bool { return math.Abs(float64(d)) > m.Max-m.Min+1e-9 }
		if slices.ContainsFunc([]analyse.Number{c.Diff, c.Least, c.Most}, beyond) {
			return r, fmt.Errorf("%s: comparisons[%d]: diff %v, least %v or most %v is no difference of %s, which is %v to %v", file, i, c.Diff, c.Least, c.Most, c.Metric, m.Min, m.Max)
		}
	}
	mine := s.Owner()
	err = s.write(by, func(desk *Desk) error {
		if len(desk.Book.kits(mine, r.Kit)) == 0 {
			return NotAllowed("the result is of the kit with SHA-256 %s, which the ledger %s does not have: a result counts if it is of a kit that `scruple blind build` made of this study, unchanged", r.Kit, desk.Book.Path)
		}
		commitments := of(desk.Book.Commitments, mine)
		first := slices.IndexFunc(commitments, func(c Entry[Commitment]) bool { return c.Data.Data == r.Data })
		if first < 0 {
			began := ""
			if r.BeganAt != "" {
				began = ", which began at " + r.BeganAt + ","
			}
			return NotAllowed("the result is of data with SHA-256 %s, to which nobody committed: only a commitment that `scruple blind commitment` recorded before the run%s makes a result count", r.Data, began)
		}
		for _, e := range of(desk.Book.Blind, mine) {
			if e.Data.Result.Data == r.Data {
				return NotAllowed("the result of these data is entry %d of the ledger already: a blind validation runs once", e.Seq)
			}
		}
		err := desk.Add(Blind{mine, r})
		r = committed(r, commitments[first].At)
		return err
	})
	return r, err
}

// committed is a result whose commitment was recorded at a time.
func committed(r analyse.BlindResult, at string) analyse.BlindResult {
	recorded, errRecorded := time.Parse(time.RFC3339Nano, at)
	began, errBegan := time.Parse(time.RFC3339Nano, r.BeganAt)
	r.CommittedAt, r.Late = at, errRecorded == nil && errBegan == nil && recorded.After(began)
	return r
}

// RecordKit appends a kit that is made of the study to its ledger, once with the same arms.
func (s *Subject) RecordKit(digest string, files []string, by string) error {
	return s.write(by, func(desk *Desk) error {
		arms := armsOf(s.Arms)
		if slices.ContainsFunc(desk.Book.kits(s.Owner(), digest), func(k Entry[Kit]) bool { return slices.Equal(k.Data.Arms, arms) }) {
			return nil
		}
		return desk.Add(Kit{Owner: s.Owner(), Digest: digest, Files: files, Arms: arms})
	})
}

// RecordCommitment appends the hash to which an outsider committed, before they run
// their kit; or, with a reason, that no result of it will come.
func (s *Subject) RecordCommitment(data, who, withdrawn, by string) error {
	data = strings.ToLower(strings.TrimSpace(data))
	if !analyse.IsSum(data) {
		return fmt.Errorf("commitment %q: want the 64 digits that `scruple blind commit` printed", data)
	}
	c := Commitment{Owner: s.Owner(), Data: data, Who: strings.TrimSpace(who), Withdrawn: strings.TrimSpace(withdrawn)}
	if c.Who == "" {
		return errors.New("say who committed with --from")
	}
	return s.write(by, func(desk *Desk) error {
		if len(of(desk.Book.Kits, c.Owner)) == 0 {
			return NotAllowed("the ledger %s has no kit of this study: make one with `scruple blind build`", desk.Book.Path)
		}
		commitments := of(desk.Book.Commitments, c.Owner)
		known := slices.IndexFunc(commitments, func(e Entry[Commitment]) bool { return e.Data.Data == data })
		switch {
		case c.Withdrawn == "" && known >= 0:
			return NotAllowed("this commitment is entry %d of the ledger already", commitments[known].Seq)
		case c.Withdrawn != "":
			list := BlindResults(desk.Book, c.Owner, nil)
			waits := slices.IndexFunc(list, func(r analyse.BlindResult) bool { return r.Data == data && r.Committed != "" && r.Withdrawn == "" })
			if waits < 0 {
				return NotAllowed("the ledger %s has no commitment to these data that waits for a result", desk.Book.Path)
			}
			if by := list[waits].By; by != c.Who {
				return NotAllowed("the commitment to these data is of %q: only they withdraw it, and --from says %q", by, c.Who)
			}
		}
		return desk.Add(c)
	})
}

// BlindResults reads the results of blind validations of a study, and which commitments have none:
// who may choose the results that are recorded could leave out bad ones. treatment is that of the run
// for which they are read: its arms may be others than those that outsiders had.
func BlindResults(book Book, study Owner, treatment []eval.Part) (list []analyse.BlindResult) {
	all := of(book.Blind, study)
	for i, e := range all {
		r := e.Data.Result
		if slices.ContainsFunc(all[:i], func(was Entry[Blind]) bool { return reflect.DeepEqual(was.Data.Result, r) }) {
			continue // both sides of a merge recorded it
		}
		r.Others = book.others(study, r.Kit, treatment)
		list = append(list, r)
	}
	for _, e := range of(book.Commitments, study) {
		i := slices.IndexFunc(list, func(r analyse.BlindResult) bool { return r.Data == e.Data.Data })
		switch {
		case i < 0:
			list = append(list, analyse.BlindResult{By: e.Data.Who, Data: e.Data.Data, Committed: Day(e.At)})
		case list[i].Committed != "":
			list[i].Withdrawn = cmp.Or(e.Data.Withdrawn, list[i].Withdrawn)
		case e.Data.Withdrawn == "":
			list[i] = committed(list[i], e.At)
		}
	}
	return list
}

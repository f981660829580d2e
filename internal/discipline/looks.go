package discipline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// UntilLook limits a TEST run that plans several looks to the items up to the next one: the
// first look that has the first pending item.
func (s *Subject) UntilLook(part Part, p *store.Progress) Part {
	if s.Study.Split != study.SplitTest || !part.Whole() {
		return part
	}
	first := s.firstPending(p)
	for _, n := range s.looks() {
		if n*s.perItem() > first {
			part.Limit = n
			break
		}
	}
	return part
}

// LookEvent is a look at the results of a run; the note is a [Look].
const LookEvent = "results shown"

// A Look is what results were of, how many runs of the study had been shown before, and how many
// trials the run planned and had asked by then, those included that left its plan after a look had
// shown them: these two are 0 in events of older versions. Unseen are the others that left.
type Look struct {
	Trials  int `json:"trials"`
	Items   int `json:"items"`
	Runs    int `json:"runs"`
	Planned int `json:"planned,omitempty"`
	Asked   int `json:"asked,omitempty"`
	Unseen  int `json:"unseen,omitempty"`
}

// Behind sets what a look had asked behind those that were seen, with as many trials outside of the
// plan. Of what left it since the last look, that look had shown as many at most as it had; which
// came back is not known, so that they count.
func (l *Look) Behind(seen []Look, left int) {
	l.Unseen = left
	if n := len(seen); n > 0 {
		last := seen[n-1]
		asked := cmp.Or(last.Asked, last.Trials)
		since := left - (asked - last.Trials + last.Unseen)
		l.Unseen = max(0, last.Unseen+min(since, 0)+max(0, since-last.Trials))
	}
	l.Asked = l.Trials + left - l.Unseen
}

// LooksOf are the looks at the results of a run, from its events.
func LooksOf(events []store.Event) (seen []Look) {
	for _, e := range events {
		var l Look
		if e.What == LookEvent && json.Unmarshal([]byte(e.Note), &l) == nil {
			seen = append(seen, l)
		}
	}
	return seen
}

// RecordShown records in the ledger that results of a TEST run are shown, if more of them than it
// has: the store may be replaced by an older copy.
func (s *Subject) RecordShown(ctx context.Context, db *store.DB, r *store.Run, by string) error {
	if r.Split() != study.SplitTest {
		return nil
	}
	book, err := s.Book()
	if err != nil {
		return err
	}
	p, err := db.Progress(ctx, r)
	if err != nil || p.Done.Count() <= book.shownOf(KeyOf(r)) {
		return err
	}
	return s.write(by, func(desk *Desk) error {
		return desk.Add(Shown{RunKey{s.Owner(), r.ID, Created(r)}, p.Done.Count()})
	})
}

// askedAgain says which trials of items whose results were shown a part of a run would ask
// again.
func (s *Subject) askedAgain(ctx context.Context, db *store.DB, book Book, r *store.Run, p *store.Progress, part Part) (reasons []string, err error) {
	events, err := db.Events(ctx, r)
	if err != nil {
		return nil, err
	}
	shown := book.shownOf(KeyOf(r)) // trials, the first ones
	for _, l := range LooksOf(events) {
		shown = max(shown, l.Trials)
	}
	if r.Analysed && (s.Study.Statistics.Looks < 2 || shown == 0) {
		shown = p.Trials
	}
	failed, pending, isPending := 0, 0, s.pending(p)
	for seq := range min(shown, p.Trials) {
		switch {
		case p.Failed.Has(seq) || p.Unjudged.Has(seq):
			failed++
		case isPending(seq):
			pending++
		}
	}
	would := "the results of " + r.ID + " were shown, and %s would be asked again"
	if pending > 0 {
		reasons = append(reasons, fmt.Sprintf(would, text.Plural(pending, "pending trial", "pending trials")))
	}
	if failed > 0 && part.RetryFailed {
		reasons = append(reasons, fmt.Sprintf(would, text.Plural(failed, "failed trial", "failed trials")))
	}
	return reasons, nil
}

// looks lists the numbers of items at which a run is looked at before its end.
func (s *Subject) looks() (at []int) {
	looks, items := s.Study.Statistics.Looks, len(s.Items)
	for k := 1; k < looks; k++ {
		at = append(at, (k*items+looks-1)/looks)
	}
	return at
}

// perItem is the number of trials of an item, which stand together in the plan.
func (s *Subject) perItem() int { return len(s.Arms) * s.Plan.Replicates() }

// atLook reports whether an unfinished TEST run has the items up to a planned look and no
// others.
func (s *Subject) atLook(p *store.Progress) bool {
	first := s.firstPending(p)
	return p.Done.Count() == first && slices.ContainsFunc(s.looks(), func(n int) bool { return n*s.perItem() == first })
}

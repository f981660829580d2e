package experiment

import (
	"context"
	"encoding/json"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// lookEvent is a look at the results of a run; the note is a [look].
const lookEvent = "results shown"

// A look is what results were of, and how many runs of the study had been shown before.
type look struct {
	Trials int `json:"trials"`
	Items  int `json:"items"`
	Runs   int `json:"runs"`
}

func (l look) String() string {
	return text.Plural(l.Trials, "trial", "trials") + " of " + text.Plural(l.Items, "item", "items")
}

// look adds all looks at the results of a run to the question, with the one that the event
// records which it returns: there is none if the results have the answers of the last time.
func (r *Run) look(ctx context.Context, q *analyse.Question, done int) (fresh []store.Event, err error) {
	if done == 0 || q.Run.Exploratory() {
		return nil, nil
	}
	events, err := r.db.Events(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	var seen []look
	for _, e := range events {
		var l look
		if e.What == lookEvent && json.Unmarshal([]byte(e.Note), &l) == nil {
			seen = append(seen, l)
		}
	}
	if n := len(seen); n == 0 || seen[n-1].Trials != done || seen[n-1].Items != q.Run.Items {
		now := look{Trials: done, Items: q.Run.Items}
		if n > 0 {
			now.Runs = seen[0].Runs
		} else if runs, err := r.shownBefore(ctx); err != nil {
			return nil, err
		} else {
			now.Runs = runs
		}
		note, err := json.Marshal(now)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, store.Event{At: r.env.Now(), What: lookEvent, Note: string(note)})
		seen = append(seen, now)
	}
	var answers []int
	for _, l := range seen {
		answers = append(answers, l.Trials)
	}
	q.Run.Looks, q.Study.Alpha, err = analyse.LooksAt(answers, q.Run.Planned, seen[0].Runs, r.Study.Statistics.Looks, q.Study.Alpha)
	return fresh, err
}

// shownBefore counts the earlier runs of the study, and of its split, whose results were
// shown.
func (r *Run) shownBefore(ctx context.Context) (n int, err error) {
	runs, err := r.db.Runs(ctx)
	for _, other := range runs {
		if other.N < r.Record.N && other.Analysed && other.Study == r.Record.Study && splitOf(other) == r.Study.Split {
			n++
		}
	}
	return n, err
}

// untilLook limits a TEST run that plans several looks to the items up to the next one.
func (r *Run) untilLook(part Part, p *store.Progress) Part {
	looks, items := r.Study.Statistics.Looks, len(r.Items())
	if r.Study.Split != study.SplitTest || looks < 2 || !part.Whole() {
		return part
	}
	position, last := 0, ""
	for seq := range p.Trials {
		if t := r.Plan.Trial(seq); t.Item != last {
			position, last = position+1, t.Item
		}
		if p.Done.Has(seq) && (!r.HasJudge() || p.Judged.Has(seq) || p.Failed.Has(seq)) {
			continue
		}
		for k := 1; k < looks; k++ { // the first look with the first pending item
			if n := (k*items + looks - 1) / looks; n >= position {
				part.Limit = n
				return part
			}
		}
		return part
	}
	return part
}

// atLook reports whether an unfinished TEST run has the items up to a planned look and no
// others.
func (r *Run) atLook(p *store.Progress) bool {
	looks, items := r.Study.Statistics.Looks, len(r.Items())
	if looks < 2 || p.Done.Count() == 0 || r.HasJudge() && p.ToJudge() > 0 {
		return false
	}
	position, last, begun := 0, "", 0
	for seq := range p.Trials {
		if t := r.Plan.Trial(seq); t.Item != last {
			position, last = position+1, t.Item
		}
		if p.Done.Has(seq) {
			begun = position
		}
	}
	for k := 1; k < looks; k++ {
		if n := (k*items + looks - 1) / looks; n == begun {
			return p.Done.Count() == n*(p.Trials/max(1, items))
		}
	}
	return false
}

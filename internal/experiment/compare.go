package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Side is a run to compare with another, and one of its arms, or "" for those that
// both runs have.
type Side struct {
	DB  *store.DB
	Run *store.Run
	Arm string
}

// An IncomparableError is of two runs that have no arm or no item in common.
type IncomparableError struct{ why string }

func (e *IncomparableError) Error() string { return e.why }

func incomparable(format string, args ...any) error {
	return &IncomparableError{fmt.Sprintf(format, args...)}
}

// CompareRuns compares two scored runs of a suite on the items that both have with
// the same input: each arm of the newer run with that of the older. Metrics, tests
// and clusters are those of the study x, which is the newer run's.
func (x *Experiment) CompareRuns(ctx context.Context, older, newer Side) (*analyse.Analysis, error) {
	c, err := x.between(ctx, older, newer)
	if err != nil {
		return nil, err
	}
	return c.analyse(ctx)
}

// between finds what two runs have in common.
func (x *Experiment) between(ctx context.Context, older, newer Side) (*runComparison, error) {
	if older.Run.Suite != x.Study.Suite {
		return nil, incomparable("comparing %s with %s: they are of different suites (%s and %s)", newer.Run.ID, older.Run.ID, x.Study.Suite, older.Run.Suite)
	}
	if older.Run.ID == newer.Run.ID && older.DB.Path() == newer.DB.Path() {
		return nil, fmt.Errorf("comparing run %s with itself: name two runs; with one, `scruple compare` shows the comparisons of its arms", newer.Run.ID)
	}
	c := &runComparison{x: x, sides: [2]Side{older, newer}, warnings: []string{"exploratory: the study plans no comparison of two runs"}}
	var scored [2][]string
	for i, s := range c.sides {
		var err error
		scored[i], err = s.DB.ScoredArms(ctx, s.Run)
		if err == nil && len(scored[i]) == 0 {
			err = fmt.Errorf("run %s has no scores: finish it with `scruple run`, or score it with `scruple score %s`", s.Run.ID, s.Run.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.match(scored); err != nil {
		return nil, err
	}
	return c, c.common(ctx)
}

// runComparison is a comparison of two runs, the older one first.
type runComparison struct {
	x        *Experiment
	sides    [2]Side
	pairs    [][2]string // their arms
	items    []eval.Item // by id, those that both runs have with the same input and gold
	left     int         // items of the older run that are not compared
	warnings []string
}

// match pairs the arms that have scores.
func (c *runComparison) match(scored [2][]string) error {
	older, newer := c.sides[0], c.sides[1]
	if pair := [2]string{cmp.Or(older.Arm, newer.Arm), cmp.Or(newer.Arm, older.Arm)}; pair[0] != "" {
		for i, known := range scored {
			if !slices.Contains(known, pair[i]) {
				return fmt.Errorf("run %s has no arm %q with scores; its arms are %s", c.sides[i].Run.ID, pair[i], strings.Join(known, ", "))
			}
		}
		c.pairs = [][2]string{pair}
		return nil
	}
	baseline := text.SetOf(c.x.arms(func(a eval.Arm) bool { return a.Role != eval.RoleArm }))
	for _, arm := range scored[1] {
		if !baseline[arm] && slices.Contains(scored[0], arm) {
			c.pairs = append(c.pairs, [2]string{arm, arm})
		}
	}
	for _, arm := range scored[0] {
		if !baseline[arm] && !slices.Contains(scored[1], arm) {
			c.warnings = append(c.warnings, fmt.Sprintf("arm %s has scores in the older run only: not compared", arm))
		}
	}
	if len(c.pairs) == 0 {
		return incomparable("runs %s and %s have no arm in common: name one of each as RUN:ARM; the arms are %s, and %s",
			older.Run.ID, newer.Run.ID, strings.Join(scored[0], ", "), strings.Join(scored[1], ", "))
	}
	return nil
}

// Differing lists the items of two runs with another input, and those with another gold alone.
func Differing(was, now map[string]eval.Item) (reworded, regraded []string) {
	list := slices.Collect(maps.Values(now))
	return plan.Reworded(was, list), plan.Regraded(was, list)
}

// common takes the items that both runs have with the same input and gold.
func (c *runComparison) common(ctx context.Context) error {
	var planned [2]map[string]eval.Item
	for i, s := range c.sides {
		var err error
		if planned[i], err = s.DB.PlannedItems(ctx, s.Run); err != nil {
			return err
		}
	}
	items := c.x.Items()
	index := eval.IndexItems(items)
	reworded, regraded := Differing(planned[0], planned[1])
	differ := text.SetOf(slices.Concat(reworded, regraded))
	var added, gone int
	for id := range planned[1] {
		_, ok := planned[0][id]
		i, known := index.Find(id)
		switch {
		case !ok:
			added++
		case differ[id]:
		case !known:
			gone++
		default:
			c.items = append(c.items, items[i])
		}
	}
	slices.SortFunc(c.items, func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) })
	remedy, err := c.regrade(ctx)
	if err != nil {
		return err
	}
	if len(c.items) == 0 {
		return incomparable("runs %s and %s have no item in common with the same input and gold (input of %d and gold of %d changed): "+
			"where gold changed, %s", c.sides[0].Run.ID, c.sides[1].Run.ID, len(reworded), len(regraded), remedy)
	}
	c.left = len(planned[0]) - len(c.items)
	text.AddCount(&c.warnings, added, "item", "items", " that only the newer run has: left out")
	text.AddCount(&c.warnings, c.left-len(differ)-gone, "item", "items", " that only the older run has: left out")
	text.AddCount(&c.warnings, gone, "item", "items", " that the study no longer has: left out")
	text.AddCount(&c.warnings, len(reworded), "item", "items", " whose input differs between the runs: left out")
	text.AddCount(&c.warnings, len(regraded), "item", "items", " with other gold in the older run: left out; to compare them, %s", remedy)
	return nil
}

// regrade says what gives the older run the gold of the newer one.
func (c *runComparison) regrade(ctx context.Context) (string, error) {
	older := c.sides[0]
	why, err := whyFrozen(ctx, older.DB, older.Run)
	switch {
	case err != nil:
		return "", err
	case why == "" && older.DB.Path() != c.sides[1].DB.Path():
		why = "is not of this store"
	case why == "":
		return fmt.Sprintf("score it again with `scruple score %s`", older.Run.ID), nil
	}
	return fmt.Sprintf("run the older study once more with this gold, and compare with that run: %s %s and stays as it is", older.Run.ID, why), nil
}

func (c *runComparison) analyse(ctx context.Context) (*analyse.Analysis, error) {
	q := c.x.question()
	q.Comparisons, q.Across, q.Overall = nil, nil, false
	older, newer := c.sides[0], c.sides[1]
	if older.Run.Split() == study.SplitDev || newer.Run.Split() == study.SplitDev {
		q.Run.Split = study.SplitDev
	}
	q.Run.ID = newer.Run.ID + " and " + older.Run.ID
	q.Run.Items, q.Run.LeftOut, q.Run.Dev = len(c.items), c.left, devItems(c.items)
	q.Run.Planned = len(c.items) * len(c.pairs) * (older.Run.Replicates + newer.Run.Replicates)
	// One family: a difference that is shown as one is more than chance whatever the number of
	// arms and metrics.
	q.Family, q.Study.Family.Of = [][3]string{}, analyse.OfRuns
	var arms []eval.Arm
	for _, p := range c.pairs {
		a, b := c.name(1, p[1]), c.name(0, p[0])
		arms = append(arms, eval.Arm{ID: a}, eval.Arm{ID: b})
		q.Comparisons = append(q.Comparisons, analyse.Pair{A: a, B: b})
		for _, metric := range q.Primary {
			q.Family = append(q.Family, [3]string{a, b, metric})
		}
	}
	if q.Study.Correction == "" || q.Study.Correction == "none" {
		q.Study.Correction = "holm"
	}
	from, err := c.judges(ctx, &q)
	if err != nil {
		return nil, err
	}
	collector := analyse.NewCollector(&c.x.Suite.Suite, c.items, arms, analyse.Listed(c.items))
	for i, side := range c.sides {
		wanted := map[string]string{}
		for _, p := range c.pairs {
			wanted[p[i]] = c.name(i, p[i])
		}
		rated, err := c.x.ratings(c.x.Bench, c.cases(ctx, side, slices.Collect(maps.Keys(wanted))...))
		if err != nil {
			return nil, err
		}
		if rated != nil {
			for j := range rated.Rated {
				t := &rated.Rated[j].Trial
				t.Arm = wanted[t.Arm]
			}
			if from.Ratings != nil {
				rated.Rated = append(from.Ratings.Rated, rated.Rated...)
			}
			from.Ratings = rated
		}
		if err := c.collect(collector, wanted, side.DB.ScoresByItem(ctx, side.Run)); err != nil {
			return nil, err
		}
	}
	if err := collector.Err(); err != nil {
		return nil, err
	}
	a, err := collector.Analyse(q, from)
	if err != nil {
		return nil, err
	}
	a.Warnings = append(c.warnings, a.Warnings...)
	var errTables, errLedger error
	a.Tables, errTables = c.changes(ctx)
	a.Discipline, errLedger = c.unblindings()
	return a, cmp.Or(errTables, errLedger, c.sameBasis(ctx, a))
}

// name is the name of an arm of a side in the analysis.
func (c *runComparison) name(side int, arm string) string {
	older, newer := c.sides[0], c.sides[1]
	if side == 0 && older.DB != newer.DB && older.Run.ID == newer.Run.ID { // of another store
		return "earlier " + older.Run.ID + ":" + arm
	}
	return c.sides[side].Run.ID + ":" + arm
}

// judges adds to the question how the judges of the two runs differ, and their scorers, and returns
// the versions of the models that answered, the judges' among them.
func (c *runComparison) judges(ctx context.Context, q *analyse.Question) (from analyse.Sources, err error) {
	var bases [2]map[[2]string]int64
	var parts [2]map[string]string
	var scorers [2]map[string][]eval.Part
	judge := false // beside scorers
	from.Models = map[string][]string{}
	for i, side := range c.sides {
		stored := &reader{ctx: ctx, run: side.Run}
		bases[i] = read(stored, side.DB.JudgedBy)
		sums := read(stored, side.DB.CallSums)
		if scorers[i] = read(stored, side.DB.Scorers); stored.err != nil {
			return from, stored.err
		}
		parts[i] = map[string]string{}
		settings, _ := plan.WithoutScorer(plan.JudgeParts(side.Run.Treatment))
		for _, p := range plan.Readable(settings) {
			parts[i][p.Name], judge = p.Value, true
		}
		for arm, models := range sums.Models() {
			from.Models[c.name(i, arm)] = models
		}
		for _, v := range sums.Prices() {
			v.Arm = c.name(i, v.Arm)
			from.Prices = append(from.Prices, v) // also of arms that are not compared
		}
		for _, of := range []struct {
			versions []eval.ArmVersion
			to       *[]eval.ArmVersion
		}{{sums.Versions(), &from.Versions}, {sums.JudgedBy(), &from.JudgedBy}} {
			for _, v := range of.versions {
				if slices.ContainsFunc(c.pairs, func(p [2]string) bool { return p[i] == v.Arm }) {
					v.Arm = c.name(i, v.Arm)
					*of.to = append(*of.to, v)
				}
			}
		}
	}
	var settings []string
	for _, k := range slices.Sorted(maps.Keys(parts[0])) {
		if was, now := parts[0][k], parts[1][k]; was != now {
			settings = append(settings, fmt.Sprintf("%s was %s and is %s", k, was, cmp.Or(now, "not set")))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(parts[1])) {
		if _, ok := parts[0][k]; !ok {
			settings = append(settings, fmt.Sprintf("%s was not set and is %s", k, parts[1][k]))
		}
	}
	how := cmp.Or(strings.Join(settings, "; "), "its prompt, its criteria, or what it is told of an item")
	q.JudgesDiffer, q.ScorersDiffer = map[[2]string]string{}, map[[2]string]string{}
	for _, p := range c.pairs {
		pair := [2]string{c.name(1, p[1]), c.name(0, p[0])}
		was, now := programOf(scorers[0][p[0]]), programOf(scorers[1][p[1]])
		if len(was) > 0 && len(now) > 0 {
			q.ScorersDiffer[pair] = strings.Join(eval.DiffParts(was, now), "; ")
		} else if len(was)+len(now) > 0 {
			q.ScorersDiffer[pair] = "one of the runs has none"
		}
		if !judge {
			continue
		}
		how := how
		if q.ScorersDiffer[pair] != "" && len(settings) == 0 { // one hash has both
			how += ", or only the scorer"
		}
		judged := false
		differ := slices.ContainsFunc(c.items, func(item eval.Item) bool {
			was, now := bases[0][[2]string{item.ID, p[0]}], bases[1][[2]string{item.ID, p[1]}]
			judged = judged || was != 0 && now != 0
			return was != 0 && now != 0 && was != now
		})
		if differ || !judged && len(settings) > 0 { // of a version that recorded no hashes
			q.JudgesDiffer[pair] = how
		}
	}
	return from, nil
}

// programOf are the parts of a request that say which program was asked.
func programOf(parts []eval.Part) (program []eval.Part) {
	for _, p := range parts {
		if p.Name == "endpoint" || p.Name == "program" {
			program = append(program, eval.Part{Name: p.Name, Value: eval.WithoutPort(p.Value)})
		}
	}
	return program
}

// changes are the tables of the suite of what differs between the runs.
func (c *runComparison) changes(ctx context.Context) (tables []eval.Table, err error) {
	list := c.x.Bench.Capabilities().Changes
	if list == nil {
		return nil, nil
	}
	for _, s := range c.sides { // what a judge said that failed its calibration in one of them is no difference
		scorer, k, err := (&Run{Experiment: c.x, Record: s.Run, db: s.DB}).calibrate(ctx)
		if err != nil {
			return nil, err
		}
		if k != nil && k.Failed {
			list = scorer.Capabilities().Changes
		}
	}
	for _, p := range c.pairs {
		changed, err := list(c.cases(ctx, c.sides[0], p[0]), c.cases(ctx, c.sides[1], p[1]))
		if err != nil {
			return nil, fmt.Errorf("listing what changed from %s to %s: %w", c.sides[0].Run.ID, c.sides[1].Run.ID, err)
		}
		for _, t := range changed {
			if len(c.pairs) > 1 {
				t.Title += ", " + p[1]
			}
			if len(t.Rows) > 0 {
				tables = append(tables, t)
			}
		}
	}
	return tables, nil
}

// cases yields the cases of some arms on the items that are compared.
func (c *runComparison) cases(ctx context.Context, s Side, arms ...string) iter.Seq2[eval.Case, error] {
	index := eval.IndexItems(c.items)
	return only(s.DB.Cases(ctx, s.Run), func(k eval.Case) bool {
		_, common := index.Find(k.Item)
		return common && slices.Contains(arms, k.Arm)
	})
}

// unblindings are those that the ledgers have of the studies of both runs.
func (c *runComparison) unblindings() (*analyse.Discipline, error) {
	d, done := &analyse.Discipline{}, map[string]bool{}
	for _, s := range c.sides {
		book, err := discipline.BookOf(s.Run.StudyPath)
		if err != nil {
			return nil, err
		}
		if own := discipline.Of(book, s.Run); own != nil {
			for _, u := range own.Unblindings {
				if key := fmt.Sprint(u); !done[key] { // both may be of one study
					d.Unblindings, done[key] = append(d.Unblindings, u), true
				}
			}
			if own.Problem != "" {
				d.Problem = cmp.Or(d.Problem, s.Run.ID+": "+own.Problem)
			}
		}
	}
	return d, nil
}

// collect adds the trials of some arms under other names, a case at a time.
func (c *runComparison) collect(into *analyse.Collector, wanted map[string]string, scores iter.Seq2[store.TrialScores, error]) (err error) {
	index := eval.IndexItems(c.items)
	var open eval.Scored
	flush := func() {
		if len(open.Trials) > 0 {
			into.Add(open)
		}
		open = eval.Scored{}
	}
	for t := range until(&err, scores) {
		name, ok := wanted[t.Trial.Arm]
		if _, common := index.Find(t.Trial.Item); !ok || !common {
			continue
		}
		if open.Item != t.Trial.Item || open.Arm != name {
			flush()
		}
		open.Item, open.Arm = t.Trial.Item, name
		if t.Kind != "" { // not the scores of all replicates
			open.Trials = append(open.Trials, eval.Judged{Trial: t.Trial, Outcome: eval.Outcome{Kind: t.Kind}})
		}
		for _, s := range t.Scores { // a run may have been scored by other metrics of its study
			if _, known := c.x.Suite.Metric(s.Metric); known {
				open.Scores = append(open.Scores, s)
			}
		}
	}
	flush()
	return err
}

// sameBasis warns if the runs were scored by other settings, or if one was continued since.
func (c *runComparison) sameBasis(ctx context.Context, a *analyse.Analysis) error {
	var bases []string
	for _, s := range c.sides {
		_, _, basis, err := s.DB.Analysis(ctx, s.Run)
		if errors.Is(err, store.ErrNotFound) {
			var n int
			n, err = s.DB.ToScore(ctx, s.Run)
			a.Warnings = append(a.Warnings, fmt.Sprintf("run %s went on after it was scored (answers without a score yet: %d): compare again when it is finished", s.Run.ID, n))
		} else {
			basis, _, _ = strings.Cut(basis, "-")
			bases = append(bases, basis)
		}
		if err != nil {
			return err
		}
	}
	if len(bases) == 2 && bases[0] != bases[1] {
		a.Warnings = append(a.Warnings, "the runs were analysed with different metrics, comparisons, statistics or judge: score both with `scruple score` to compare them by the same settings")
	}
	return nil
}

package rerank

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/text"
)

// open binds the suite to a study: it reads the data, evaluates every request on
// every item, and makes the arms. The error is a [study.Errors] with all errors,
// each with its file and line.
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	b := &bench{study: s, seed: uint64(s.Execution.Seed), k: cmp.Or(s.Candidates.K, 5), statuses: map[string]int{}}
	b.hits = hitsAt(b.k)
	var arms []*arm
	arms, b.sizes = plan(f, s, &errs)
	var err error
	if b.studyData, err = readData(f, s.Data); err != nil {
		errs.Add(err)
		return nil, errs.Err()
	}
	errs = append(errs, b.faults...)
	b.evaluator = evidence.New(b.catalog.Graph)
	b.check(f, &errs)
	b.checkSizes(f, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	b.arranger = candidates.Arranger{Seed: b.seed, Shuffle: cmp.Or(candidates.Shuffle(s.Candidates.Shuffle), candidates.Balanced)}
	for _, it := range b.catalog.Items {
		b.itemIDs = append(b.itemIDs, it.ID)
		const facts, head = 1000, 200 // bytes, about
		_, c := b.within(it)
		b.itemBytes += facts + c.Kept*head + c.KeptChars
	}
	b.itemBytes /= len(b.itemIDs)
	b.settle(arms)
	return b, nil
}

// studyData is the valid data of a study's files, with the errors in the rest.
type studyData struct {
	catalog  *catalog.Catalog
	requests []request.Request
	faults   []error
	warnings []string
	hashes   Hashes
}

// Hashes are the hashes of the data files.
type Hashes struct {
	Data     string `json:"data_sha256"` // items, reviews and people
	Requests string `json:"requests_sha256"`
}

// readData reads the files of a study. It returns an error only if a file cannot
// be read at all.
func readData(f *study.File, d Data) (*studyData, error) {
	files := catalog.Files{Items: f.Resolve(d.Items), Reviews: f.Resolve(d.Reviews), Strip: d.Strip}
	if d.Users != "" {
		files.Users = f.Resolve(d.Users)
	}
	var set request.Set
	var more []catalog.Finding
	c, findings, err := catalog.Load(files)
	if err == nil {
		set, more, err = request.Load(f.Resolve(d.Requests), c)
	}
	if err != nil {
		return nil, study.Errors{fmt.Errorf("reading the data: %w", err)}
	}
	out := &studyData{catalog: c, requests: set.Requests, hashes: Hashes{c.Hash, set.Hash}}
	findings = append(findings, more...)
	findings = append(findings, evidence.Unread(c, files.Items, set.Requests)...)
	out.faults, out.warnings = catalog.Split(findings)
	if d.Count > 0 && d.Count < len(out.requests) {
		out.requests = out.requests[:d.Count]
	}
	for i := range out.requests {
		out.requests[i].Rank = i
	}
	return out, nil
}

// check validates every request against every item.
func (b *bench) check(f *study.File, errs *study.Errors) {
	for _, s := range evidence.Validate(b.catalog, b.requests) {
		b.statuses[s.Status]++
		b.rivals += s.Unknown
		if s.Status == evidence.OK {
			continue
		}
		text := statusText(s)
		if len(b.faults) > 0 {
			text += "; invalid lines in the data may be the cause"
		}
		errs.Add(catalog.Finding{File: f.Resolve(b.study.Data.Requests), Line: s.Line, Text: text})
	}
}

// checkSizes checks that there are enough items for every size, and that every
// request has a candidate that is not right.
func (b *bench) checkSizes(f *study.File, errs *study.Errors) {
	for _, n := range b.sizes {
		if n > len(b.catalog.Items) {
			errs.Add(f.Errorf("candidates.sizes", "size is %d, but the data have %s", n, text.Plural(len(b.catalog.Items), "item", "items")))
		}
	}
	least := slices.Min(b.sizes)
	for i := range b.requests {
		r := &b.requests[i]
		right := len(r.Answers())
		b.several = b.several || right > 1
		if right > 1 && right >= least {
			errs.Add(f.Errorf("candidates.sizes", "size is %d, but request %s has %d right items: want a size with room for others", least, r.ID, right))
		}
	}
}

func statusText(s evidence.Status) string {
	const few, table = 5, "; `scruple rerank explain` shows the truth table"
	matches := strings.Join(s.Matches[:min(few, len(s.Matches))], ", ")
	if more := len(s.Matches) - few; more > 0 {
		matches += fmt.Sprintf(" and %d more", more)
	}
	wrong := fmt.Sprintf("gold is %s, but other items satisfy it: %s", s.Gold, matches)
	switch {
	case s.Status == evidence.NoMatch:
		wrong = fmt.Sprintf("no item satisfies it, gold is %s", s.Gold) + table
	case s.Status == evidence.MultiMatch && s.Right > 1:
		wrong = fmt.Sprintf("%d items satisfy it (%s), want only the %d in gold", len(s.Matches), matches, s.Right)
	case s.Status == evidence.MultiMatch:
		wrong = fmt.Sprintf("%d items satisfy it (%s), want only gold; list all of them in gold if several are right", len(s.Matches), matches)
	case len(s.Missed) > 0:
		wrong = strings.Join(s.Missed, ", ") + " in gold: does not satisfy it" + table
	}
	return fmt.Sprintf("request %s (%s): %s", s.Request, s.Status, wrong)
}

// noGroup is the level of requests without a group in a study with groups.
const noGroup = "none"

// settle makes the items and the hashes of the arms.
func (b *bench) settle(arms []*arm) {
	strip := slices.Sorted(slices.Values(b.study.Data.Strip))
	data := strings.Join(append([]string{b.hashes.Data}, strip...), "\x00")
	grouped := slices.ContainsFunc(b.requests, func(r request.Request) bool { return r.Group != "" })
	var requests []*request.Request
	var items []eval.Item
	for i := range b.requests {
		r := &b.requests[i]
		input, gold := []string{data, r.Text}, []string{r.Gold, string(kit.JSON(r.Structure))}
		if b.several {
			input = append(input, "several") // prompts say so
		}
		if r.Right != nil {
			gold = append(gold, fmt.Sprint(r.Right))
		}
		item := eval.Item{ID: r.ID, Input: hashed(input...), Material: b.materialOf(r), Gold: hashed(gold...)}
		if grouped {
			item.Strata = []eval.Level{{Name: "group", Value: cmp.Or(r.Group, noGroup)}}
		}
		requests, items = append(requests, r), append(items, item)
	}
	b.FillInOrder(requests, items)
	for _, a := range arms {
		settings := kit.JSON(struct {
			Candidates Candidates
			Budget     Budget
			Attacks    Attacks
			Seed       uint64
			K          int
		}{Candidates{Shuffle: b.study.Candidates.Shuffle}, b.study.Budget, Attacks{Options: b.study.Attacks.Options}, b.seed, b.k})
		model := a.Hash // of a pipeline: command with program and version, or answers
		if a.Settings != nil {
			r := kit.RequestTo(a.Settings)
			model = r.Key() + " prompts " + method.PromptVersion
		}
		// The empty part is in the hashes of existing runs.
		a.Hash = hashed(append([]string{a.ID, string(settings), model, ""}, a.does()...)...).String()
		b.Use(a)
	}
}

// materialOf covers the request with its right items, and not the data: other requests may have its
// text, about items of another city.
func (b *bench) materialOf(r *request.Request) eval.Hash {
	parts := []string{"request", r.Text}
	for _, id := range slices.Sorted(slices.Values(r.IDs())) {
		parts = append(parts, id)
		if item := b.catalog.Item(id); item != nil {
			parts = append(parts, item.Name)
		}
	}
	return hashed(parts...)
}

func hashed(parts ...string) eval.Hash {
	h := fnv.New64a()
	h.Write(kit.AppendParts(nil, parts...))
	return eval.Hash(h.Sum64())
}

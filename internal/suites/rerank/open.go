package rerank

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Open binds the suite to a study: it reads the data, holds every request to
// every item, and makes the arms. The error is a [study.Errors] with every
// finding, each with the file and line it concerns.
func Open(f *study.File, s *Study) (*Bench, error) {
	var errs study.Errors
	fault := func(key, format string, args ...any) { errs.Add(f.Errorf(key, format, args...)) }
	b := &Bench{study: s, seed: uint64(s.Execution.Seed), k: s.Candidates.K, byID: map[string]int{}, byArm: map[string]*arm{}}
	if b.k == 0 {
		b.k = 5
	}
	p := planner{study: s, resolve: f.Resolve, fault: fault}
	b.arms, b.sizes = p.plan(), p.sizes
	if err := b.load(f, &errs); err != nil {
		return nil, err
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	shuffle, err := candidates.ParseShuffle(s.Candidates.Shuffle)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range b.requests {
		ids = append(ids, b.requests[i].ID)
	}
	b.arranger = candidates.NewArranger(b.seed, shuffle, ids)
	b.society = method.NewSociety(b.catalog.Users)
	for _, it := range b.catalog.Items {
		b.itemIDs = append(b.itemIDs, it.ID)
	}
	for _, n := range b.sizes {
		if n > len(b.itemIDs) {
			errs.Add(f.Errorf("candidates.sizes", "%d candidates, and the data have %d items", n, len(b.itemIDs)))
		}
	}
	b.settle()
	return b, errs.Err()
}

// load reads the data and holds every request to every item.
func (b *Bench) load(f *study.File, errs *study.Errors) error {
	d := b.study.Data
	files := catalog.Files{Items: f.Resolve(d.Items), Reviews: f.Resolve(d.Reviews), Strip: d.Strip}
	if d.Users != "" {
		files.Users = f.Resolve(d.Users)
	}
	c, findings, err := catalog.Load(files)
	if err != nil {
		return study.Errors{fmt.Errorf("reading the data: %w", err)}
	}
	set, more, err := request.Load(f.Resolve(d.Requests), c)
	if err != nil {
		return study.Errors{fmt.Errorf("reading the data: %w", err)}
	}
	b.catalog, b.requests, b.evaluator = c, set.Requests, evidence.New(c.Graph)
	findings = append(findings, more...)
	for _, x := range findings {
		if x.Warning {
			b.warnings = append(b.warnings, x.Error())
		} else {
			errs.Add(x)
		}
	}
	if errs.Err() != nil {
		return nil
	}
	if d.Count > 0 && d.Count < len(b.requests) {
		b.requests = b.requests[:d.Count]
	}
	for _, s := range evidence.Validate(c, b.requests) {
		b.rivals += s.Unknown
		if s.Status != evidence.OK {
			errs.Add(catalog.Finding{File: f.Resolve(d.Requests), Line: s.Line, Text: statusText(s)})
		}
	}
	return nil
}

func statusText(s evidence.Status) string {
	matches := strings.Join(s.Matches, ", ")
	switch s.Status {
	case evidence.NoMatch:
		return fmt.Sprintf("request %s: no item satisfies it, gold is %s; `scruple explain` shows the truth table", s.Request, s.Gold)
	case evidence.MultiMatch:
		return fmt.Sprintf("request %s: %d items satisfy it (%s), want gold alone", s.Request, len(s.Matches), matches)
	}
	return fmt.Sprintf("request %s: gold does not satisfy it (%s); these do: %s", s.Request, s.Gold, matches)
}

// settle makes the items and the hashes of arms.
func (b *Bench) settle() {
	data := b.catalog.Hash
	for i := range b.requests {
		r := &b.requests[i]
		b.byID[r.ID] = i
		strata := []eval.Level{}
		if r.Group != "" {
			strata = append(strata, eval.Level{Name: "group", Value: r.Group})
		}
		b.items = append(b.items, eval.Item{ID: r.ID, Strata: strata, Input: hashed(data, r.ID, r.Text), Gold: hashed(r.Gold)})
	}
	for _, a := range b.arms {
		settings, err := json.Marshal(struct {
			Candidates Candidates
			Budget     Budget
			Attacks    Attacks
			Seed       uint64
			K          int
		}{Candidates{Shuffle: b.study.Candidates.Shuffle}, b.study.Budget, Attacks{Strength: b.study.Attacks.Strength, Reviews: b.study.Attacks.Reviews}, b.seed, b.k})
		if err != nil {
			panic("rerank: " + err.Error()) // numbers and texts always marshal
		}
		model := ""
		if a.model != nil {
			r := requestTo(a.model)
			model = r.Key()
		}
		h := hashed(a.ID, string(settings), model, a.target)
		var raw [8]byte
		binary.BigEndian.PutUint64(raw[:], uint64(h))
		a.Hash = hex.EncodeToString(raw[:])
		b.byArm[a.ID] = a
	}
}

func hashed(parts ...string) eval.Hash {
	h := fnv.New64a()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return eval.Hash(h.Sum64())
}

// requestTo begins a request to a model with its settings.
func requestTo(m *study.Model) eval.Request {
	return eval.Request{
		Model: m.ID, Provider: m.Provider, Endpoint: m.BaseURL, Name: m.Name,
		Sampling:  eval.Sampling{Temperature: m.Temperature, TopP: m.TopP, Seed: m.Seed},
		MaxTokens: m.MaxTokens, Allowance: m.Reasoning.Allowance,
		Reasoning: eval.Reasoning{Effort: m.Reasoning.Effort, Budget: m.Reasoning.Budget},
	}
}

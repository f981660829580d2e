package rerank

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
)

const local = "arms: [{name: bm25}, {name: oracle}]\n"

func field(t *testing.T, line, name string) string {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	text, _ := r[name].(string)
	return text
}

// TestExplainInvalidRequest: the truth table works for a request that
// validation rejects.
func TestExplainInvalidRequest(t *testing.T) {
	var id, was string
	f, s := opened(t, local, func(lines []string) {
		id, was = field(t, lines[1], "id"), field(t, lines[1], "gold")
		lines[1] = strings.Replace(lines[1], `"gold":"`+was+`"`, `"gold":"i01"`, 1)
		lines[4] = "{broken"
	})
	if _, err := open(f, s); err == nil || !strings.Contains(err.Error(), "gold_not_match") || !strings.Contains(err.Error(), "requests.jsonl:5") {
		t.Fatalf("an invalid gold and an invalid line: %v", err)
	}
	x, err := Explain(f, s, id, "")
	if err != nil {
		t.Fatal(err)
	}
	table := x.(TruthTable)
	if first := table.Items[0]; first.Item != was || first.Truth != evidence.True {
		t.Errorf("the first row is %+v, want %s, which satisfies it", first, was)
	}
	if !slices.IsSortedFunc(table.Items, func(a, b evidence.Row) int { return int(b.Truth) - int(a.Truth) }) {
		t.Error("an item that satisfies the request is not before one that does not")
	}
	if table.Gold != "i01" || !strings.Contains(x.String(), "-  (gold)") && !strings.Contains(x.String(), "more that do not satisfy") {
		t.Errorf("gold is not marked:\n%s", x)
	}
	if x, err := Explain(f, s, id, was); err != nil || !strings.Contains(x.String(), was+" ") {
		t.Errorf("of one item: %v, %v", x, err)
	}
	if _, err := Explain(f, s, "R99", ""); err == nil || !strings.Contains(err.Error(), "R99") || !strings.Contains(err.Error(), "requests.jsonl:5") {
		t.Errorf("an unknown request and an invalid line: %v", err)
	}
}

// TestFacts: the results of validation are counted.
func TestFacts(t *testing.T) {
	f, s := opened(t, local, nil)
	s.Data.Count = 7
	b, err := open(f, s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, x := range b.Facts() {
		got[x.Name] = x.N
	}
	unknown := 0
	for _, r := range b.requests {
		for _, it := range b.catalog.Items {
			if it.ID != r.Gold && b.evaluator.Evaluate(r.Structure, it) == evidence.Unknown {
				unknown++
			}
		}
	}
	if len(b.Items()) != 7 || got["requests ok"] != 7 || got["requests no_match"] != 0 || got["rivals"] != 7*79 || got["unknown rivals"] != unknown || unknown == 0 {
		t.Errorf("of 7 requests on 80 items: %v, want %d unknown rivals", got, unknown)
	}
}

// TestScoringOfChangedGold: a ranking is scored against the current gold, and is
// unscored if that was not among the candidates.
func TestScoringOfChangedGold(t *testing.T) {
	b, err := starter(t, local)
	if err != nil {
		t.Fatal(err)
	}
	trial := eval.Trial{Item: b.requests[0].ID, Arm: "oracle", Replicate: 1}
	o, err := b.Perform(t.Context(), trial, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, _ := read(&o)
	second := rec.Candidates[rec.Ranking[1]-1]
	score := func(gold string) map[string]eval.Score {
		b.requests[0].Gold = gold
		all := map[string]eval.Score{}
		for _, s := range b.Score(nil, eval.CaseOf(trial, o, nil)) {
			all[s.Metric] = s
		}
		return all
	}
	if got := score(second); got["hits_1"].Num != 0 || got["mrr"].Num != 0.5 {
		t.Errorf("gold that was ranked second: %+v", got)
	}
	if x, err := b.Show(eval.CaseOf(trial, o, nil)); err != nil || x.Table.Rows[1][len(x.Table.Rows[1])-1].Text != "gold" || x.Table.Rows[0][0].String() != "1" {
		t.Errorf("the exhibit does not mark it: %v %+v", err, x.Table.Rows)
	}
	names := func(place int) string {
		return fmt.Sprintf("%s [%d]", b.catalog.Item(rec.Candidates[place-1]).Name, place)
	}
	if x, err := b.Show(eval.CaseOf(trial, o, nil)); err != nil || len(x.Rows) != 1 || x.Rows[0].Gold != names(rec.Ranking[1]) || x.Rows[0].Note != "gold at rank 2" ||
		!strings.HasPrefix(x.Rows[0].Answer, "1. "+names(rec.Ranking[0])+"\n2. "+names(rec.Ranking[1])) || len(x.Judged()) != 1 || x.Raw != x.Rows[0].Answer {
		t.Errorf("it is shown in a row as %+v, %v", x.Rows, err)
	}
	if x, err := b.Show(eval.CaseOf(eval.Trial{Item: trial.Item}, eval.Outcome{Kind: eval.Failed}, nil)); err != nil || !strings.HasPrefix(x.Lead, b.requests[0].Text) || len(x.Judged()) != 0 {
		t.Errorf("the item alone is shown as %+v, %v", x, err)
	}
	if p, _, err := b.result(trial, o); err != nil || p.Rank != 2 || p.Gold != rec.Ranking[1] {
		t.Errorf("it is placed at %+v, %v", p, err)
	}
	outside := ""
	for _, it := range b.catalog.Items {
		if !slices.Contains(rec.Candidates, it.ID) {
			outside = it.ID
		}
	}
	got := score(outside)
	if got["hits_1"].Unscored != goldIsNew || got["invalid"].Unscored != goldIsNew {
		t.Errorf("gold that was no candidate: %+v", got)
	}
}

// TestWithoutPrediction: exports and placements have no prediction either.
func TestWithoutPrediction(t *testing.T) {
	b, err := starter(t, local)
	if err != nil {
		t.Fatal(err)
	}
	trial := eval.Trial{Item: b.requests[0].ID, Arm: "bm25", Replicate: 1}
	o, err := b.Perform(t.Context(), trial, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rec, ok := read(&o); !ok || len(rec.ranked()) == 0 {
		t.Errorf("%+v %v", rec, ok)
	}
	o.Kind = eval.Malformed
	if rec, _ := read(&o); len(rec.ranked()) > 0 {
		t.Errorf("a malformed answer is exported as %v", rec.ranked())
	}
	for _, o := range []eval.Outcome{o, {Kind: eval.Failed}} {
		p, _, err := b.result(trial, o)
		if err != nil || p.Candidates != 10 || p.Rank != 11 || p.Gold < 1 || p.Gold > 10 || p.Prediction != nil {
			t.Errorf("%s is placed at %+v, %v", o.Kind, p, err)
		}
		x, err := b.Show(eval.CaseOf(trial, o, nil))
		if err != nil || x.Table == nil || !slices.Contains(x.Facts, eval.Level{Name: "gold position", Value: strconv.Itoa(p.Gold)}) {
			t.Errorf("%s is shown with %v, %v", o.Kind, x.Facts, err)
		}
	}
}

// TestTREC: an answer without a ranking is exported as a miss; what has no scores is not.
func TestTREC(t *testing.T) {
	b, err := starter(t, local)
	if err != nil {
		t.Fatal(err)
	}
	var list kept
	for i, kind := range []eval.OutcomeKind{eval.OK, eval.Malformed, eval.Failed, eval.Failed, eval.OK} {
		trial := eval.Trial{Item: b.requests[i].ID, Arm: "oracle", Replicate: 1}
		o, err := b.Perform(t.Context(), trial, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind = kind; i == 3 {
			o.Data = nil
		}
		list.list = append(list.list, eval.Judged{Trial: trial, Outcome: o})
	}
	rec, _ := read(&list.list[4].Outcome)
	b.requests[4].Gold = b.itemIDs[slices.IndexFunc(b.itemIDs, func(id string) bool { return !slices.Contains(rec.Candidates, id) })]
	dir := t.TempDir()
	said, err := writeTREC(b, list, dir)
	if err != nil || !strings.HasSuffix(said, "without 3 trials that failed or lacked an item that is right now") {
		t.Errorf("%q, %v", said, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "oracle.run"))
	if err != nil {
		t.Fatal(err)
	}
	best := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[3] == "1" {
			best[f[0]] = f[2]
		}
	}
	if want := map[string]string{b.requests[0].ID: b.requests[0].Gold, b.requests[1].ID: noPrediction}; !cmp.Equal(best, want) {
		t.Errorf("%v, want %v", best, want)
	}
}

// kept is a finished run.
type kept struct {
	kit.Kept
	list []eval.Judged
}

func (kept) Run() kit.Run { return kit.Run{Replicates: 1} }

func (k kept) Outcomes() iter.Seq2[eval.Judged, error] {
	return func(yield func(eval.Judged, error) bool) {
		for _, j := range k.list {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// Folders of exports are numbered, whatever the name of the folder that they are in.
func TestNumberedFolders(t *testing.T) {
	for _, name := range []string{"out", "a[b", "a[b]"} {
		dir := filepath.Join(t.TempDir(), name)
		for _, want := range []string{"001_one", "002_two"} {
			if got, err := numbered(dir, want[4:]); err != nil || got != filepath.Join(dir, want) {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		}
	}
}

// TestHashes: the hashes of items and arms, and the basis of trials, cover what changes an
// answer. A change of the truth of one request changes neither inputs nor arms, but what
// simulated models and the oracle answer to that request.
func TestHashes(t *testing.T) {
	open := func(text string, change func([]string)) *bench {
		b, err := open(opened(t, text, change))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	arms := "models: [{id: m, provider: openai, name: x}, {id: sim, provider: simulated}]\narms: [{name: bm25}, {name: oracle}, {name: cot}]\n"
	was := open(arms, nil)
	stripped := open(arms, nil)
	stripped.study.Data.Strip = []string{"stars"}
	stripped.settle(nil)
	if was.Items()[0].Input == stripped.Items()[0].Input {
		t.Error("the hash of items does not cover stripped paths")
	}
	renamed := open(arms, func(lines []string) {
		lines[0] = strings.Replace(lines[0], `"aspect":"`, `"aspect":"other_`, 1)
	})
	if was.Items()[0].Gold == renamed.Items()[0].Gold || was.Items()[0].Input != renamed.Items()[0].Input {
		t.Error("another structure is another gold, and the same input")
	}
	for _, arm := range []struct {
		id   string
		same bool
	}{{"bm25", true}, {"cot@m", true}, {"oracle", false}, {"cot@sim", false}} {
		for i, want := range []bool{arm.same, true} {
			trial := eval.Trial{Item: was.Items()[i].ID, Arm: arm.id, Replicate: 1}
			if same := was.Arm(arm.id).Hash == renamed.Arm(arm.id).Hash && was.Basis(trial).Asked == renamed.Basis(trial).Asked; same != want {
				t.Errorf("%v: the same after a change of truth: %v, want %v", trial, same, want)
			}
		}
	}
	k := open("candidates: {k: 3}\n"+arms, nil)
	if was.Arm("bm25").Hash == k.Arm("bm25").Hash || len(k.Arm("bm25").Hash) != 16 {
		t.Error("the number of places asked for is not in the hash of arms")
	}
}

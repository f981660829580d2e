package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// shop is a study of six laptops with these requests and keys.
func shop(t *testing.T, keys string, requests ...string) (*bench, error) {
	t.Helper()
	return stocked(t, keys, `{"id":"a","name":"A","price":500,"weight":1.2,"attributes":{}}
{"id":"b","name":"B","price":900,"weight":1.3,"attributes":{}}
{"id":"c","name":"C","price":1000,"weight":1.9,"attributes":{}}
{"id":"d","name":"D","price":2000,"weight":1.1,"attributes":{}}
{"id":"e","name":"E","price":90,"weight":3,"attributes":{}}
{"id":"f","name":"F","weight":1.0,"attributes":{}}
`, `{"review_id":"1","business_id":"a","user_id":"u","stars":5,"text":"quiet fan"}
{"review_id":"2","business_id":"b","user_id":"v","stars":4,"text":"a loud fan all day"}
{"review_id":"3","business_id":"b","user_id":"w","stars":4,"text":"second review of b"}
`, requests...)
}

// stocked is a study of these items, reviews and requests.
func stocked(t *testing.T, keys, items, reviews string, requests ...string) (*bench, error) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"items.jsonl":    items,
		"reviews.jsonl":  reviews,
		"requests.jsonl": strings.Join(requests, "\n") + "\n",
		"study.yaml":     "name: t\nsuite: rerank\ndata: {items: items.jsonl, reviews: reviews.jsonl, requests: requests.jsonl}\n" + keys,
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := new(Study)
	f, err := study.Load(filepath.Join(dir, "study.yaml"), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return open(f, s)
}

const cheap = `{"aspect":"cheap","evidence":{"kind":"item_meta","path":"price","lte":1000}}`

// cheapest is a request that a, b, c and e satisfy.
func cheapest(gold string) string {
	return `{"id":"R1","text":"Something up to 1000.","gold":` + gold + `,"structure":` + cheap + `}`
}

// calm is a study in which the second review of the rival r rules it out.
func calm(t *testing.T, keys string) (*bench, error) {
	return stocked(t, "candidates: {sizes: [3]}\narms: [{name: bm25}]\n"+keys, `{"id":"g","name":"Gold","attributes":{"WiFi":"free"}}
{"id":"r","name":"Rival","attributes":{"WiFi":"free"}}
{"id":"s","name":"Other","attributes":{"WiFi":"no"}}
`, `{"id":"1","item_id":"g","user_id":"a","stars":5,"text":"nice"}
{"id":"2","item_id":"r","user_id":"b","stars":5,"text":"nice"}
{"id":"3","item_id":"r","user_id":"c","stars":5,"text":"too loud"}
{"id":"4","item_id":"s","user_id":"c","stars":5,"text":"fine"}
`, `{"id":"q","text":"free wifi, nobody calls it loud","gold":"g","structure":{"op":"AND","args":[{"aspect":"wifi","evidence":{"kind":"item_meta","path":"attributes.WiFi","true":"free"}},{"op":"NOT","args":[{"aspect":"loud","evidence":{"kind":"review_text","pattern":"loud"}}]}]}}`)
}

// A budget may hide what rules a rival out, which then satisfies the request by what is
// shown: the trial says so.
func TestBudgetThatSparesARival(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want bool
	}{{"", false}, {"review_budget: {reviews: 2}\n", false}, {"review_budget: {reviews: 1}\n", true}} {
		b, err := calm(t, tt.keys)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := perform(t, b, "bm25/n3", 0)
		rec, _ := read(&o)
		if cmp.Equal(rec.Unproved, []int{rec.placeOf("r")}) != tt.want || slices.Contains(o.Notes, "review budget removed the evidence against another candidate") != tt.want {
			t.Errorf("%q: %q %+v", tt.keys, o.Notes, rec)
		}
		x, err := b.Show(eval.CaseOf(eval.Trial{Item: "q", Arm: "bm25/n3", Replicate: 1}, o, nil))
		shown := slices.Contains(x.Facts, eval.Level{Name: "budget removed the evidence at positions", Value: fmt.Sprint(rec.placeOf("r"))})
		if err != nil || shown != tt.want {
			t.Errorf("%q is shown as %v, %v", tt.keys, x.Facts, err)
		}
	}
}

// Reviews that an attack displaces within the budget are not counted as shown.
func TestDisplacedReviewsAreLost(t *testing.T) {
	b, err := calm(t, "review_budget: {reviews: 1}\nattacks: {names: [fake_positive]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for arm, want := range map[string]struct {
		kept  int
		chars int
		lost  map[string]int
	}{
		"bm25/n3":               {3, 12, map[string]int{"g": 0, "r": 1, "s": 0}},
		"bm25/n3/fake_positive": {1, 4, map[string]int{"g": 0, "r": 2, "s": 1}},
	} {
		o, _ := perform(t, b, arm, 0)
		rec, _ := read(&o)
		lost := map[string]int{}
		for i, id := range rec.Candidates {
			lost[id] = rec.Lost[i]
		}
		if c := rec.Coverage; c.Kept != want.kept || c.KeptChars != want.chars || c.Reviews != 4 || !cmp.Equal(lost, want.lost) {
			t.Errorf("%s: %+v, lost %v", arm, c, lost)
		}
	}
}

// Validation proves that gold is all of what is right, and that a candidate is not.
func TestSeveralRightItemsAreProved(t *testing.T) {
	const local = "candidates: {sizes: [6]}\narms: [{name: oracle}]\n"
	for gold, want := range map[string]string{
		`["a","b","c","e"]`:         "",
		`{"a":1,"b":3,"c":1,"e":2}`: "",
		`"a"`:                       "4 items satisfy it (a, b, c, e), want only gold",
		`["a","b"]`:                 "want only the 2 in gold",
		`["a","b","c","e","d"]`:     "d in gold: does not satisfy it",
		`["a","b","c","e","f"]`:     "f in gold: does not satisfy it", // no price: unknown
	} {
		_, err := shop(t, local, cheapest(gold))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("gold %s: %v, want %q", gold, err, want)
		}
	}
	_, err := shop(t, "candidates: {sizes: [4]}\narms: [{name: oracle}]\n", cheapest(`["a","b","c","e"]`))
	if err == nil || !strings.Contains(err.Error(), "request R1 has 4 right items") {
		t.Errorf("candidates that are all right: %v", err)
	}
}

// All right items are candidates at every size, and the oracle ranks them by
// grade.
func TestSeveralRightCandidates(t *testing.T) {
	b, err := shop(t, "candidates: {sizes: [5, 6], k: 6}\narms: [{name: oracle}]\n", cheapest(`{"a":1,"b":3,"c":1,"e":2}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, arm := range []string{"oracle/n5", "oracle/n6"} {
		o, scores := perform(t, b, arm, 0)
		rec, _ := read(&o)
		for _, id := range []string{"a", "b", "c", "e"} {
			if rec.placeOf(id) == 0 {
				t.Errorf("%s: %s is not among %v", arm, id, rec.Candidates)
			}
		}
		for _, metric := range []string{hits(1), metricMRR, "ndcg_5", "ndcg_10", recall(5), recall(10)} {
			if scores[metric] != 1 {
				t.Errorf("%s: %s is %v", arm, metric, scores[metric])
			}
		}
		if _, ok := scores[hitsIn("first")]; ok {
			t.Error("Hits@1 by the position of gold, of which there are four")
		}
	}
	if s := b.Items()[0].Strata; len(s) > 0 {
		t.Errorf("requests without groups are broken down by %v", s)
	}
	task, _ := b.scene(&b.requests[0], b.Arm("oracle/n6"))
	if !task.Several {
		t.Error("methods are told that one candidate is right")
	}
}

// The numbers are trec_eval's for the qrels a 1, b 3, c 1, e 2: gains are grades,
// discounts log2(rank+1); the best order is b e a c.
func TestGradedScores(t *testing.T) {
	r := &request.Request{Gold: "b", Right: []request.Graded{{ID: "b", Grade: 3}, {ID: "e", Grade: 2}, {ID: "a", Grade: 1}, {ID: "c", Grade: 1}}}
	candidates := []string{"a", "b", "c", "d", "e", "f"}
	log := math.Log2
	best := 3 + 2/log(3) + 1/log(4) + 1/log(5)
	for _, tt := range []struct {
		ranking []int
		want    map[string]float64
	}{
		{[]int{4, 1, 6, 2, 5}, map[string]float64{hits(1): 0, hits(2): 1, metricMRR: 0.5, recall(5): 0.75, recall(10): 0.75,
			"ndcg_5": (1/log(3) + 3/log(5) + 2/log(6)) / best}},
		{[]int{2, 5, 1, 3}, map[string]float64{hits(1): 1, metricMRR: 1, recall(5): 1, "ndcg_5": 1}},
		{[]int{4, 6}, map[string]float64{hits(5): 0, metricMRR: 0, recall(5): 0, "ndcg_10": 0}},
		{[]int{4, 6, 1, 4, 6, 2}, map[string]float64{recall(5): 0.25, recall(10): 0.5}},
	} {
		data, err := json.Marshal(record{Ranking: tt.ranking, Candidates: candidates})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, s := range (&bench{hits: hitsAt(5), several: true}).score(nil, eval.Outcome{Kind: eval.OK, Data: data}, r) {
			got[s.Metric] = s.Num / s.Den
		}
		for metric, want := range tt.want {
			if !(math.Abs(got[metric]-want) <= 1e-12) {
				t.Errorf("%v: %s is %v, want %v", tt.ranking, metric, got[metric], want)
			}
		}
	}
}

// Recall is not scored where it equals Hits.
func TestOneRightItemHasNoRecall(t *testing.T) {
	b, err := starter(t, "arms: [{name: bm25}]\n")
	if err != nil {
		t.Fatal(err)
	}
	_, scores := perform(t, b, "bm25", 0)
	if _, ok := scores[recall(5)]; ok {
		t.Error(scores)
	}
}

const quiet = `{"id":"R2","text":"No loud fan.","gold":"b","structure":{"op":"AND","args":[` +
	`{"aspect":"b","evidence":{"kind":"item_meta","path":"price","between":[500,900]}},` +
	`{"aspect":"loud","evidence":{"kind":"review_text","pattern":"loud"}}]}}`

// An attack that would make a rival satisfy the request is refused, and the trial
// says so: a has no review that says loud until an injection writes one.
func TestAttacksDoNotMakeRivalsRight(t *testing.T) {
	b, err := shop(t, "candidates: {sizes: [6], shuffle: none}\narms: [{name: bm25}]\nattacks: {names: [inject_override]}\n", quiet)
	if err != nil {
		t.Fatal(err)
	}
	a := b.Arm("bm25/n6/inject_override")
	r := &b.requests[0]
	_, rec := b.scene(r, a)
	if len(rec.Refused) > 0 || rec.Changed == 0 {
		t.Fatalf("refused %v, changed %d", rec.Refused, rec.Changed)
	}
	// What every injection says now makes a right.
	r.Structure.Args[1].Evidence = &request.Evidence{Kind: request.ReviewText, Pattern: "loud|(?s)quiet fan.+"}
	task, rec := b.scene(r, a)
	if at := rec.placeOf("a"); !slices.Equal(rec.Refused, []int{at}) || task.Candidates[at-1].Reviews[0].Text != "quiet fan" {
		t.Errorf("refused %v, want %d; it reads %q", rec.Refused, at, task.Candidates[at-1].Reviews[0].Text)
	}
	for i, c := range task.Candidates {
		if c.Item.ID != "b" && b.shows(c.Item, c.Reviews, r) {
			t.Errorf("candidate %d is right under attack", i+1)
		}
	}
	o, _ := perform(t, b, a.ID, 0)
	if !slices.ContainsFunc(o.Notes, func(s string) bool { return strings.Contains(s, "refused") }) {
		t.Errorf("notes %q", o.Notes)
	}
}

// Blame is on gold, within the budget, and never at the cost of gold's evidence.
func TestBlameIsOnGold(t *testing.T) {
	b, err := shop(t, "candidates: {sizes: [6]}\nreview_budget: {reviews: 2}\narms: [{name: bm25}]\nattacks: {names: [fake_negative]}\n", quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := &b.requests[0]
	clean, _ := b.scene(r, b.Arm("bm25/n6"))
	task, rec := b.scene(r, b.Arm("bm25/n6/fake_negative"))
	for i, c := range task.Candidates {
		if changed := reviews(c.Reviews) != reviews(clean.Candidates[i].Reviews); changed != (c.Item.ID == "b") {
			t.Errorf("%s changed: %v", c.Item.ID, changed)
		}
	}
	if gold := task.Candidates[rec.Gold-1]; rec.Changed != 1 || len(gold.Reviews) != 2 || !b.shows(gold.Item, gold.Reviews, r) {
		t.Errorf("changed %d, gold reads %v", rec.Changed, gold.Reviews)
	}
	b.study.Budget.Reviews = 1 // the blame would replace the only review, which shows that gold is right
	if _, rec = b.scene(r, b.Arm("bm25/n6/fake_negative")); !slices.Equal(rec.Refused, []int{rec.Gold}) || rec.Changed != 0 {
		t.Errorf("refused %v, gold is %d", rec.Refused, rec.Gold)
	}
}

// No candidate shows more characters under attack than the budget allows.
func TestAttacksKeepTheBudgetOfCharacters(t *testing.T) {
	b, err := starter(t, "review_budget: {reviews: 6, chars: 400}\narms: [{name: bm25}]\nattacks: {names: [all], strength: 3}\n")
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range b.requests[:20] {
		for _, a := range b.OwnArms {
			task, rec := b.scene(&b.requests[i], a)
			changed += rec.Changed
			for k, c := range task.Candidates {
				chars := 0
				for _, r := range c.Reviews {
					chars += utf8.RuneCountInString(r.Text)
				}
				if chars > 400 || len(c.Reviews) > 6 {
					t.Fatalf("%s, %s: candidate %d shows %d reviews of %d characters", b.requests[i].ID, a.ID, k+1, len(c.Reviews), chars)
				}
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d candidates changed", changed)
	}
}

// A request that the attack does not change asks nothing and is not scored; plan
// warns of it.
func TestUntouchedRequestsAreNotAsked(t *testing.T) {
	b, err := starter(t, "models: [{id: m, provider: openai, name: x}]\narms: [{name: cot}]\nattacks: {names: [sarcastic_wifi, typo_10]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.catalog.Items {
		delete(b.catalog.Items[i].Attributes, "WiFi")
		delete(b.catalog.Items[i].Attributes, "internet_access")
	}
	if want, got := []string{"attack sarcastic_wifi at 10 candidates finds nothing to change: its arms will not be asked"}, b.Warnings(); !cmp.Equal(want, got) {
		t.Errorf("warnings %q", got)
	}
	for arm, want := range map[string]int{"cot": 1, "cot/typo_10": 1, "cot/sarcastic_wifi": 0} {
		l := &listener{answer: eval.Response{Text: "Ranking: 1, 2", Stop: eval.StopEnd}}
		trial := eval.Trial{Item: b.Items()[0].ID, Arm: arm, Replicate: 1}
		o, err := b.Perform(t.Context(), trial, l)
		if err != nil || len(l.requests) != want {
			t.Errorf("%s: %d calls, want %d (%v)", arm, len(l.requests), want, err)
		}
		for _, s := range b.Score(nil, eval.CaseOf(trial, o, nil)) {
			if s.Metric == metricApplied || s.Metric == "reviews_shown" {
				continue
			}
			if (s.Unscored != "") != (want == 0) {
				t.Errorf("%s: %+v", arm, s)
			}
		}
		p, _, err := b.result(trial, o)
		if err != nil || (p.Outcome == "untouched") != (want == 0) || want == 0 && (p.Rank != 0 || p.Prediction != nil) {
			t.Errorf("%s: %+v, %v", arm, p, err)
		}
	}
}

// The cost over all requests is the cost over the changed ones times their share.
func TestAttackTable(t *testing.T) {
	b, err := starter(t, "arms: [{name: bm25}]\nattacks: {names: [typo_20]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		share    eval.Number
		compared bool
		want     []string
	}{
		{0.25, true, []string{"bm25/typo_20", "15 of 60", "−0.500 (−0.700 to −0.300)", "−0.125"}},
		{0.25, false, []string{"bm25/typo_20", "15 of 60", "–", "–"}},
		{0, false, []string{"bm25/typo_20", "0 of 60", "–", "0.000"}},
	} {
		if table := b.attackTable(applied{asAsked{b}, c.share, c.compared}); !cmp.Equal(table.Strings(), [][]string{c.want}) {
			t.Errorf("%v %v: %q", c.share, c.compared, table.Strings())
		}
	}
}

// applied says that attacks change a share of the requests.
type applied struct {
	asAsked
	share    eval.Number
	compared bool
}

func (r applied) Estimate(arm, metric string) (eval.Measured, bool) {
	if metric == metricApplied {
		return eval.Measured{Value: r.share, N: 60}, true
	}
	return r.asAsked.Estimate(arm, metric)
}

func (r applied) Difference(a, b, metric string) (eval.Measured, bool) {
	_, ok := r.asAsked.Difference(a, b, metric)
	return eval.Measured{Value: -0.5, Low: -0.7, High: -0.3, N: 15}, ok && r.compared
}

// Steps in parallel count as the longest, with its retries; all others add up.
func TestWallTime(t *testing.T) {
	steps := map[string]float64{"plan": 10, "plan/retry1": 5, "text/q1/1": 3, "text/q1/1/retry1": 4, "text/q1/10": 6, "text/q2/1": 2, "order": 1}
	if got := wallTime(steps, [][]string{{"text/q1/1", "text/q1/10", "text/q2/1"}}); got != 10+5+(3+4)+1 {
		t.Errorf("%v ms", got)
	}
	if got := wallTime(steps, nil); got != 31 {
		t.Errorf("%v ms in sequence", got)
	}
	many, parallel := map[string]float64{}, []string{"a"}
	for i := range 60 {
		many[fmt.Sprint("a/", i)] = 0.1 * float64(i)
	}
	want := wallTime(many, [][]string{parallel})
	for range 20 {
		if got := wallTime(many, [][]string{parallel}); got != want {
			t.Fatalf("the same steps took %v ms and %v ms", want, got)
		}
	}
	if len(steps) != 7 {
		t.Error("the steps were changed")
	}
}

// Methods with parallel steps say which ran in parallel.
func TestParallelStepsAreRecorded(t *testing.T) {
	b, err := starter(t, "models: [{id: sim, provider: simulated}]\narms: [{name: weaver}, {name: anot}, {name: cot}]\n")
	if err != nil {
		t.Fatal(err)
	}
	for arm, want := range map[string]bool{"weaver": true, "anot": true, "cot": false} {
		found := false
		for i := range b.Items() {
			o, err := b.Perform(t.Context(), eval.Trial{Item: b.Items()[i].ID, Arm: arm, Replicate: 1}, foreseen{})
			if err != nil {
				t.Fatal(err)
			}
			rec, _ := read(&o)
			for _, group := range rec.Parallel {
				found = found || len(group) > 1
			}
		}
		if found != want {
			t.Errorf("%s has parallel steps: %v", arm, found)
		}
	}
}

// foreseen answers as a good model would.
type foreseen struct{}

func (foreseen) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
}

// A ranking counts in an answer that counts, and if all its positions are of candidates.
func TestReadRankings(t *testing.T) {
	for data, want := range map[string]int{`[2, 1]`: 2, `[1, 3]`: 0, `[0, 1]`: 0, `[-1]`: 0, `[]`: 0} {
		o := eval.Outcome{Kind: eval.OK, Data: []byte(`{"ranking": ` + data + `, "candidates": ["a", "b"]}`)}
		if rec, ok := read(&o); !ok || len(rec.Ranking) != want {
			t.Errorf("%s of two candidates is read as %v", data, rec.Ranking)
		}
		o.Kind = eval.Refused
		if rec, ok := read(&o); !ok || rec.Ranking != nil {
			t.Errorf("a refusal has the ranking %v", rec.Ranking)
		}
	}
}

package span_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/measure/span"
)

type jsonSpan struct {
	Start, End int
	Label      string
}

func spans(list []jsonSpan) []span.Span {
	out := make([]span.Span, len(list))
	for i, s := range list {
		out[i] = span.Span(s)
	}
	return out
}

type sentence struct {
	Tokens   []string
	GoldTags []string `json:"gold_tags"`
	Gold     []jsonSpan
	Systems  map[string]struct {
		Tags  []string
		Spans []jsonSpan
	}
}

func open(t testing.TB, name string) *json.Decoder {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return json.NewDecoder(f)
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return json.NewDecoder(z)
}

func read(t testing.TB, name string, into any) {
	t.Helper()
	if err := open(t, name).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func wnut(t testing.TB) []sentence {
	t.Helper()
	d := open(t, "wnut17_gold_and_systems.jsonl.gz")
	var all []sentence
	for d.More() {
		var s sentence
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if len(all) != 643 {
		t.Fatalf("%d sentences", len(all))
	}
	return all
}

func chunks(t testing.TB, tags []string) []span.Span {
	t.Helper()
	c, err := span.Chunks(tags)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func percent(x float64) float64 { return math.Round(1e4*x) / 100 }

// Real submissions to WNUT17, from their tags and from their character offsets,
// score as conlleval.pl says, to its two decimals, for every system and type.
func TestConllevalOnWNUT17(t *testing.T) {
	var reference map[string]struct {
		Overall struct{ Accuracy, Precision, Recall, F1 float64 }
		Counts  struct{ Tokens, Gold, Predicted, Correct int }
		PerType map[string]struct {
			Precision, Recall, F1 float64
			Predicted             int
		} `json:"per_type"`
	}
	read(t, "wnut17_conlleval_reference.json", &reference)
	sentences := wnut(t)
	if len(reference) < 4 {
		t.Fatalf("%d systems", len(reference))
	}
	for system, want := range reference {
		byTag, byOffset := span.Tally{Scheme: span.Conll}, span.Tally{Scheme: span.Conll}
		tokens, agreeing := 0, 0
		for _, s := range sentences {
			p := s.Systems[system]
			byTag.Add(chunks(t, s.GoldTags), chunks(t, p.Tags))
			byOffset.Add(spans(s.Gold), spans(p.Spans))
			tokens += len(s.Tokens)
			agreeing += span.Agreeing(s.GoldTags, p.Tags)
		}
		if tokens != want.Counts.Tokens || percent(float64(agreeing)/float64(tokens)) != want.Overall.Accuracy {
			t.Errorf("%s: %d of %d tokens agree", system, agreeing, tokens)
		}
		for how, got := range map[string]span.Tally{"tags": byTag, "offsets": byOffset} {
			c := got.Overall
			if c.Gold() != want.Counts.Gold || c.Predicted() != want.Counts.Predicted || c.Correct != want.Counts.Correct {
				t.Errorf("%s by %s: %+v, want %+v", system, how, c, want.Counts)
			}
			o := want.Overall
			if got := [3]float64{percent(c.Precision()), percent(c.Recall()), percent(c.F1())}; got != [3]float64{o.Precision, o.Recall, o.F1} {
				t.Errorf("%s by %s: %v, want %v", system, how, got, o)
			}
			if len(got.ByLabel) != len(want.PerType) {
				t.Errorf("%s by %s: types %v", system, how, got.Labels())
			}
			for label, w := range want.PerType {
				c := got.ByLabel[label]
				if got := [3]float64{percent(c.Precision()), percent(c.Recall()), percent(c.F1())}; got != [3]float64{w.Precision, w.Recall, w.F1} || c.Predicted() != w.Predicted {
					t.Errorf("%s by %s, %s: %v and %d predicted, want %v", system, how, label, got, c.Predicted(), w)
				}
			}
		}
	}
}

// nervaluates is a result of nervaluate by scheme.
type nervaluates map[string]struct {
	Correct, Incorrect, Partial, Missed, Spurious int
	Precision, Recall, F1                         float64
}

func (n nervaluates) check(t *testing.T, what string, s span.Scheme, got span.Counts) {
	t.Helper()
	w := n[strings.Replace(string(s), "type", "ent_type", 1)]
	if want := (span.Counts{Correct: w.Correct, Incorrect: w.Incorrect, Partial: w.Partial, Missed: w.Missed, Spurious: w.Spurious}); got != want {
		t.Errorf("%s, %s: %+v, want %+v", what, s, got, want)
	}
	for _, x := range [][2]float64{{got.Precision(), w.Precision}, {got.Recall(), w.Recall}, {got.F1(), w.F1}} {
		if !(math.Abs(x[0]-x[1]) <= 1e-12) {
			t.Errorf("%s, %s: %v, want %v", what, s, x[0], x[1])
		}
	}
}

var schemes = []span.Scheme{span.Strict, span.Exact, span.Partial, span.Type}

// The real submissions score as nervaluate and seqeval say, to the last bit that
// a sum in another order leaves.
func TestNervaluateAndSeqevalOnWNUT17(t *testing.T) {
	var reference struct {
		WNUT17 map[string]struct {
			Nervaluate struct {
				Overall nervaluates
				ByLabel map[string]nervaluates `json:"by_label"`
			}
			Seqeval struct{ Micro, Macro [3]float64 }
		}
	}
	read(t, "wnut17_nervaluate_seqeval.json", &reference)
	sentences := wnut(t)
	for system, want := range reference.WNUT17 {
		for _, scheme := range schemes {
			tally := span.Tally{Scheme: scheme}
			for _, s := range sentences {
				tally.Add(spans(s.Gold), spans(s.Systems[system].Spans))
			}
			want.Nervaluate.Overall.check(t, system, scheme, tally.Overall)
			for label, c := range tally.ByLabel {
				want.Nervaluate.ByLabel[label].check(t, system+" "+label, scheme, c)
			}
		}
		tally := span.Tally{Scheme: span.Conll}
		for _, s := range sentences {
			tally.Add(chunks(t, s.GoldTags), chunks(t, s.Systems[system].Tags))
		}
		p, r, f := tally.Macro()
		c := tally.Overall
		for i, got := range []float64{c.Precision(), c.Recall(), c.F1(), p, r, f} {
			if w := append(want.Seqeval.Micro[:], want.Seqeval.Macro[:]...)[i]; !(math.Abs(got-w) <= 1e-12) {
				t.Errorf("%s: seqeval's number %d is %v, got %v", system, i, w, got)
			}
		}
	}
}

// Overlapping spans, long ones and near misses score as nervaluate says.
func TestNervaluateOnRandomSpans(t *testing.T) {
	var reference struct {
		Nervaluate []struct {
			Gold, Pred []jsonSpan
			Nervaluate struct{ Overall nervaluates }
		}
	}
	read(t, "nervaluate_random.json.gz", &reference)
	if len(reference.Nervaluate) < 300 {
		t.Fatal("too few cases")
	}
	for i, c := range reference.Nervaluate {
		for _, s := range schemes {
			c.Nervaluate.Overall.check(t, fmt.Sprint("case ", i), s, span.Match(s, spans(c.Gold), spans(c.Pred)))
		}
	}
}

// Tags of all three kinds, right and wrong, are read as seqeval reads them.
func TestChunksAsSeqeval(t *testing.T) {
	var cases []struct {
		Tags   []string
		Chunks [][3]any
	}
	read(t, "seqeval_chunks.json.gz", &cases)
	if len(cases) < 400 {
		t.Fatal("too few cases")
	}
	for _, c := range cases {
		var want []span.Span
		for _, x := range c.Chunks {
			want = append(want, span.Span{Start: int(x[0].(float64)), End: int(x[1].(float64)), Label: x[2].(string)})
		}
		if d := cmp.Diff(want, chunks(t, c.Tags)); d != "" {
			t.Errorf("%v (-want +got)\n%s", c.Tags, d)
		}
	}
}

// conlleval is the state machine of conlleval.pl for B, I and O, from its source:
// the oracle for [span.Chunks] and [span.Conll].
func conlleval(gold, predicted []string) (c span.Counts) {
	cut := func(tag string) (string, string) {
		p, l, _ := strings.Cut(tag, "-")
		return p, l
	}
	ends := func(was, wasType, is, isType string) bool {
		return was == "B" && is == "B" || was == "B" && is == "O" || was == "I" && is == "B" || was == "I" && is == "O" || was != "O" && wasType != isType
	}
	starts := func(was, wasType, is, isType string) bool {
		return was == "B" && is == "B" || was == "I" && is == "B" || was == "O" && is == "B" || was == "O" && is == "I" || is != "O" && wasType != isType
	}
	in, foundGold, foundPredicted := false, 0, 0
	lastG, lastGT, lastP, lastPT := "O", "", "O", ""
	for i := 0; i <= len(gold); i++ {
		g, gt, p, pt := "O", "", "O", ""
		if i < len(gold) {
			g, gt = cut(gold[i])
			p, pt = cut(predicted[i])
		}
		endG, endP := ends(lastG, lastGT, g, gt), ends(lastP, lastPT, p, pt)
		if in {
			if endG && endP && lastPT == lastGT {
				in = false
				c.Correct++
			} else if endG != endP || pt != gt {
				in = false
			}
		}
		startG, startP := starts(lastG, lastGT, g, gt), starts(lastP, lastPT, p, pt)
		if startG && startP && gt == pt {
			in = true
		}
		if startG {
			foundGold++
		}
		if startP {
			foundPredicted++
		}
		lastG, lastGT, lastP, lastPT = g, gt, p, pt
	}
	c.Missed, c.Spurious = foundGold-c.Correct, foundPredicted-c.Correct
	return c
}

// For any tags, also I after O, B inside a span and labels that change, spans
// match as in the state machine of conlleval.
func TestConllIsConlleval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "tokens")
		tags := rapid.SliceOfN(rapid.SampledFrom([]string{"O", "B-x", "I-x", "B-y", "I-y", "B", "I"}), n, n)
		gold, predicted := tags.Draw(t, "gold"), tags.Draw(t, "predicted")
		g, _ := span.Chunks(gold)
		p, _ := span.Chunks(predicted)
		if got, want := span.Match(span.Conll, g, p), conlleval(gold, predicted); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// Writing spans as tags and reading them again changes nothing.
func TestTagsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "tokens")
		tags := rapid.SliceOfN(rapid.SampledFrom([]string{"O", "B-x", "I-x", "B-y", "E-y", "S-x"}), n, n).Draw(t, "tags")
		want, err := span.Chunks(tags)
		if err != nil {
			t.Fatal(err)
		}
		again, skipped := span.Tags(n, want)
		got, err := span.Chunks(again)
		if err != nil || skipped > 0 || !slices.Equal(got, want) {
			t.Fatalf("%v → %v → %v, %d skipped, %v", tags, again, got, skipped, err)
		}
	})
	if tags, skipped := span.Tags(3, []span.Span{{1, 3, "b"}, {0, 2, "a"}, {2, 5, "c"}}); skipped != 2 || strings.Join(tags, " ") != "B-a I-a O" {
		t.Errorf("overlapping spans: %v, %d skipped", tags, skipped)
	}
}

// Invariants of every scheme: the counts add up to the spans, swapping gold and
// prediction swaps precision and recall of Conll, and equal spans are all correct.
func TestCountsAddUp(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) span.Span {
		start := rapid.IntRange(0, 30).Draw(t, "start")
		return span.Span{Start: start, End: start + rapid.IntRange(1, 9).Draw(t, "length"), Label: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label")}
	})
	list := rapid.SliceOfNDistinct(one, 0, 8, func(s span.Span) span.Span { return s })
	rapid.Check(t, func(t *rapid.T) {
		gold, predicted := list.Draw(t, "gold"), list.Draw(t, "predicted")
		slices.SortFunc(gold, span.Compare)
		slices.SortFunc(predicted, span.Compare)
		for _, s := range span.Schemes {
			c := span.Match(s, gold, predicted)
			if c.Gold() != len(gold) || c.Predicted() != len(predicted) {
				t.Fatalf("%s: %+v for %d gold and %d predicted spans", s, c, len(gold), len(predicted))
			}
			if same := span.Match(s, gold, gold); same.Correct != len(gold) {
				t.Fatalf("%s: gold against itself is %+v", s, same)
			}
		}
		seenG, seenP := map[int]bool{}, map[int]bool{}
		for _, p := range span.Pairs(gold, predicted) {
			if p.Gold >= 0 && seenG[p.Gold] || p.Predicted >= 0 && seenP[p.Predicted] || (p.IoU > 0) != (p.Gold >= 0 && p.Predicted >= 0) {
				t.Fatalf("pair %+v", p)
			}
			seenG[p.Gold], seenP[p.Predicted] = true, true
		}
	})
}

// Pairs are those of a search through all pairs.
func TestPairsSimple(t *testing.T) {
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span.Span {
		start := rapid.IntRange(-1, 30).Draw(t, "start")
		return span.Span{Start: start, End: start + rapid.IntRange(-1, 9).Draw(t, "length"), Label: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label")}
	}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		gold, predicted := list.Draw(t, "gold"), list.Draw(t, "predicted")
		want := make([]span.Pair, len(gold))
		for i := range want {
			want[i] = span.Pair{Gold: i, Predicted: -1}
		}
		paired := map[int]bool{}
		for {
			best, same := span.Pair{}, false
			for i, g := range gold {
				for j, p := range predicted {
					iou := span.IoU(g, p)
					if want[i].Predicted < 0 && !paired[j] && iou > 0 && (iou > best.IoU || iou == best.IoU && g.Label == p.Label && !same) {
						best, same = span.Pair{Gold: i, Predicted: j, IoU: iou}, g.Label == p.Label
					}
				}
			}
			if best.IoU == 0 {
				break
			}
			want[best.Gold], paired[best.Predicted] = best, true
		}
		for j := range predicted {
			if !paired[j] {
				want = append(want, span.Pair{Gold: -1, Predicted: j})
			}
		}
		if got := span.Pairs(gold, predicted); !slices.Equal(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// BenchmarkPairs: the time per span must hardly grow with the number of spans.
func BenchmarkPairs(b *testing.B) {
	for _, n := range []int{1000, 16_000} {
		var gold, predicted []span.Span
		for i := range n {
			gold, predicted = append(gold, span.Span{Start: 10 * i, End: 10*i + 5}), append(predicted, span.Span{Start: 10*i + 1, End: 10*i + 6})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				span.Pairs(gold, predicted)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/span")
		})
	}
}

// A span without a place, -1 to -1 or empty, matches nothing, not even one with the
// same label and offsets; it stays in the denominators.
func TestSpansWithoutAPlace(t *testing.T) {
	gold := []span.Span{{-1, -1, "a"}, {-1, -1, "a"}, {0, 3, "a"}, {5, 5, "a"}}
	predicted := []span.Span{{-1, -1, "a"}, {0, 3, "a"}, {5, 5, "a"}}
	for _, s := range span.Schemes {
		if got, want := span.Match(s, gold, predicted), (span.Counts{Correct: 1, Missed: 3, Spurious: 2}); got != want {
			t.Errorf("%s: %+v, want %+v", s, got, want)
		}
	}
	pairs := span.Pairs(gold, predicted)
	if paired := slices.DeleteFunc(pairs, func(p span.Pair) bool { return p.Gold < 0 || p.Predicted < 0 }); !slices.Equal(paired, []span.Pair{{Gold: 2, Predicted: 1, IoU: 1}}) {
		t.Errorf("pairs %+v", paired)
	}
}

// BenchmarkTally compares the spans of a system with gold by every scheme, over
// all labels and by label. One operation is one predicted span by one scheme.
func BenchmarkTally(b *testing.B) {
	sentences := wnut(b)
	type pair struct{ gold, predicted []span.Span }
	var pairs []pair
	total := 0
	for _, s := range sentences {
		for _, p := range s.Systems {
			if len(s.Gold)+len(p.Spans) > 0 {
				pairs = append(pairs, pair{spans(s.Gold), spans(p.Spans)})
				total += len(p.Spans)
			}
		}
	}
	for _, scheme := range span.Schemes {
		b.Run(string(scheme), func(b *testing.B) {
			n := 0
			for b.Loop() {
				tally := span.Tally{Scheme: scheme}
				for _, p := range pairs {
					tally.Add(p.gold, p.predicted)
				}
				n += total
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

// An exact span counts, whatever else was predicted: nervaluate's order gives its gold span
// to the shorter one that stands before it.
func TestAgreeOnOverlaps(t *testing.T) {
	a := func(start, end int) span.Span { return span.Span{Start: start, End: end, Label: "A"} }
	for _, predicted := range [][]span.Span{{a(0, 4), a(0, 15)}, {a(0, 15), a(5, 15)}} {
		gold := []span.Span{a(0, 15)}
		if f := span.Agree(span.Strict, gold, predicted).F1(); !(math.Abs(f-2.0/3) <= 1e-12) {
			t.Errorf("%v: strict F1 %v, want 2/3", predicted, f)
		}
		for s, want := range map[span.Scheme]span.Counts{span.Exact: {Correct: 1, Spurious: 1}, span.Partial: {Correct: 1, Spurious: 1}, span.Type: {Correct: 1, Spurious: 1}} {
			if got := span.Agree(s, gold, predicted); got != want {
				t.Errorf("%v: %s %+v, want %+v", predicted, s, got, want)
			}
		}
	}
	gold, wrong := []span.Span{a(0, 10)}, []span.Span{{Start: 0, End: 9, Label: "B"}, {Start: 3, End: 5, Label: "A"}}
	for s, want := range map[span.Scheme]span.Counts{span.Strict: {Missed: 1, Spurious: 2}, span.Partial: {Partial: 1, Spurious: 1}, span.Type: {Correct: 1, Spurious: 1}} {
		if got := span.Agree(s, gold, wrong); got != want {
			t.Errorf("%s: %+v, want %+v", s, got, want)
		}
	}
}

// Counts by sets are those of the intersection, add up to the spans, and a span more is
// never worth more than one that is gold.
func TestAgreeIsIntersection(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) span.Span {
		start := rapid.IntRange(0, 6).Draw(t, "start")
		return span.Span{Start: start, End: start + rapid.IntRange(0, 4).Draw(t, "length"), Label: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "label")}
	})
	lists := rapid.SliceOfNDistinct(one, 0, 8, rapid.ID[span.Span])
	rapid.Check(t, func(t *rapid.T) {
		gold, predicted := lists.Draw(t, "gold"), lists.Draw(t, "predicted")
		slices.SortFunc(gold, span.Compare)
		slices.SortFunc(predicted, span.Compare)
		both := 0
		for _, s := range predicted {
			if slices.Contains(gold, s) && s.Start < s.End {
				both++
			}
		}
		strict := span.Agree(span.Strict, gold, predicted)
		if strict.Correct != both {
			t.Fatalf("%d spans are in both lists, got %+v", both, strict)
		}
		for _, s := range []span.Scheme{span.Strict, span.Exact, span.Partial, span.Type} {
			c := span.Agree(s, gold, predicted)
			if c.Gold() != len(gold) || c.Predicted() != len(predicted) {
				t.Fatalf("%s: %+v for %d gold and %d predicted spans", s, c, len(gold), len(predicted))
			}
			if s != span.Strict && c.Points() < float64(both) {
				t.Fatalf("%s: %v points, %d spans are right", s, c.Points(), both)
			}
		}
		for i, s := range predicted {
			less := slices.Delete(slices.Clone(predicted), i, i+1)
			without := span.Agree(span.Strict, gold, less)
			if right := slices.Contains(gold, s) && s.Start < s.End; right != (strict.Correct > without.Correct) {
				t.Fatalf("%v is gold: %t, but %+v becomes %+v without it", s, right, strict, without)
			}
		}
	})
}

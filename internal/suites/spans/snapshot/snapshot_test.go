package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

var reader = snapshot.DefaultReader()

const run1, run2 = "testdata/run1_2025-12-23T18-27.json.gz", "testdata/run2_2025-12-23T18-40.json.gz"

func content(t testing.TB, path string) []byte {
	t.Helper()
	data, err := dataset.ReadFile(path)
	if err == nil {
		data, err = dataset.Unpack(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t testing.TB, path string) *spanfile.SnapshotFile {
	t.Helper()
	f, err := spanfile.ReadSnapshot(content(t, path), path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func summarise(f *spanfile.SnapshotFile) *snapshot.Summary {
	t := reader.NewTally()
	for i := range f.Results {
		l := reader.Label(&f.Results[i])
		t.Add(&l)
	}
	return t.Summary()
}

func two(x float64) float64 { return math.Round(100*x) / 100 }

// The real snapshots, summarised again, have the figures that the original tool
// recorded in them; and failed judgements are counted apart from zeros.
func TestRealSnapshots(t *testing.T) {
	for path, want := range map[string]struct {
		judged, failed, errors int
		withFailures           float64 // sum of totals / (judged + failed), from the file with jq
		spans                  float64 // spans / results without an error: 1690/53 and 1649/50, with jq
	}{run1: {45, 8, 1, 15.92, 31.89}, run2: {49, 1, 1, 18.90, 32.98}} {
		f := open(t, path)
		m := summarise(f)
		if m.JudgedResults != want.judged || m.JudgeFailures != want.failed || m.ErrorCount != want.errors || m.NotJudged != 0 || m.ZeroScores != 0 || two(m.AvgScoreWithFailures) != want.withFailures {
			t.Errorf("%s: %d judged, %d failed, %d errors, %d zeros, average with failures %v", path, m.JudgedResults, m.JudgeFailures, m.ErrorCount, m.ZeroScores, m.AvgScoreWithFailures)
		}
		var recorded struct {
			AvgScore, AvgSpanCount float64
			ScoreDistribution      map[string]int
			ErrorCount             int
			PipelineSources        snapshot.Pipelines
			SpanSources            snapshot.Sources
			AvgCategoryScores      map[string]verdict.CategoryScore
			FalsePositiveReasons   map[string]int
			TopTaxonomyErrors      []struct{ Count int }
		}
		if err := json.Unmarshal(f.Summary, &recorded); err != nil {
			t.Fatal(err)
		}
		if two(m.AvgScore) != recorded.AvgScore || !(math.Abs(m.AvgSpanCountAll-recorded.AvgSpanCount) <= 0.0051) || m.ErrorCount != recorded.ErrorCount {
			t.Errorf("%s: average %v of %v spans, recorded %v of %v", path, m.AvgScore, m.AvgSpanCountAll, recorded.AvgScore, recorded.AvgSpanCount)
		}
		if two(m.AvgSpanCount) != want.spans {
			t.Errorf("%s: %v spans of results without an error, want %v", path, m.AvgSpanCount, want.spans)
		}
		var distribution map[string]int
		b, err := json.Marshal(m.ScoreDistribution)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &distribution); err != nil {
			t.Fatal(err)
		}
		for what, d := range map[string]string{
			"distribution": cmp.Diff(recorded.ScoreDistribution, distribution), "pipelines": cmp.Diff(recorded.PipelineSources, m.PipelineSources),
			"sources": cmp.Diff(recorded.SpanSources, m.SpanSources), "reasons": cmp.Diff(recorded.FalsePositiveReasons, m.FalsePositiveReasons),
		} {
			if d != "" {
				t.Errorf("%s: %s (-recorded +ours)\n%s", path, what, d)
			}
		}
		for name, score := range m.AvgCategoryScores {
			if got := (verdict.CategoryScore{Coverage: two(score.Coverage), Precision: two(score.Precision)}); got != recorded.AvgCategoryScores[name] {
				t.Errorf("%s: %s is %+v, recorded %+v", path, name, got, recorded.AvgCategoryScores[name])
			}
		}
		for i, c := range recorded.TopTaxonomyErrors[:5] {
			if m.TopTaxonomyErrors[i].Count != c.Count {
				t.Errorf("%s: confusion %d has %d, recorded %d", path, i, m.TopTaxonomyErrors[i].Count, c.Count)
			}
		}
	}
}

// The real prompts have the sections that the tool recorded, and every span is in
// the same one. The tool of that time counted the line breaks before a header to
// its section; the header itself begins the section now.
func TestRealSections(t *testing.T) {
	f := open(t, run1)
	for i := range f.Results {
		r := &f.Results[i]
		l := reader.Label(r)
		if l.State == snapshot.Errored {
			continue // recorded without sections
		}
		var was struct{ Sections map[string]*label.Boundary }
		for _, raw := range [][]byte{r.Metadata, r.Unknown} { // the tool has recorded them in both
			if len(raw) > 0 && was.Sections == nil {
				if err := json.Unmarshal(raw, &was); err != nil {
					t.Fatal(err)
				}
			}
		}
		if was.Sections["main"] == nil {
			t.Fatalf("%s: no sections", r.PromptID)
		}
		ruler := spanfile.NewRuler(r.Text())
		found := reader.Sectioner.Detect(ruler)
		for k, name := range reader.Sectioner.Names {
			recorded, own := was.Sections[name], found[k]
			if recorded != nil {
				recorded = &label.Boundary{Start: ruler.Point(recorded.Start, spanfile.UTF16)}
			}
			if recorded != nil && own != nil && (strings.TrimSpace(ruler.Slice(recorded.Start, own.Start)) != "" || own.Start-recorded.Start > 2) {
				t.Errorf("%s: %s is %+v, recorded %+v", r.PromptID, name, own, recorded)
			}
		}
		for k, s := range l.Spans {
			if own := reader.Sectioner.Of(found, s.Start); own != r.Spans[k].Section || l.Notes[k] != "" {
				t.Errorf("%s: %+v is in %s, recorded %s; %s", r.PromptID, s, own, r.Spans[k].Section, l.Notes[k])
			}
		}
	}
}

// Run 2 against run 1: the differences of the figures of both.
func TestRealChanges(t *testing.T) {
	got := map[string]string{}
	for _, table := range snapshot.Changes(summarise(open(t, run1)), summarise(open(t, run2))) {
		for _, row := range append([][]string{{table.Note}}, table.Strings()...) {
			got[table.Name] += strings.Join(row, " ") + "\n"
		}
	}
	for name, list := range map[string][]string{
		"category_changes":  {"camera 4.022 → 4.245 +0.223 4.333 → 4.531 +0.197\n", "subject 3.667 → 3.714 +0.048 4.267 → 4.163 −0.103\n"},
		"confusion_changes": {"new environment.location lighting.source 2\n", "resolved lighting.quality lighting.source 2\n"},
		"text_changes":      {"all that changed 27 of 51", "5YRd34ZpFN5GPmZX6ha6 19 → 17 −2.000 \n2kQffVhqY2sIWXUTBXZA 19 → 18 −1.000"},
	} {
		for _, want := range list {
			if !strings.Contains(got[name], want) {
				t.Errorf("%s: no %q in\n%s", name, want, got[name])
			}
		}
	}
}

// A snapshot that is read and written keeps every field, and the original tool's
// reader accepts it.
func TestRoundTrip(t *testing.T) {
	for _, path := range []string{run1, run2} {
		var was map[string]any
		if err := json.Unmarshal(content(t, path), &was); err != nil {
			t.Fatal(err)
		}
		was["future"] = map[string]any{"x": []any{1.0}}
		first := was["results"].([]any)[0].(map[string]any)
		first["future"] = true
		first["spans"].([]any)[0].(map[string]any)["future"] = "span"
		first["judgeResult"].(map[string]any)["future"] = "judge"
		data, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		f, err := spanfile.ReadSnapshot(data, path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b, summarise(f)); err != nil {
			t.Fatal(err)
		}
		var is map[string]any
		if err := json.Unmarshal(b.Bytes(), &is); err != nil {
			t.Fatal(err)
		}
		accepted(t, is)
		summaryWas, summaryIs := was["summary"].(map[string]any), is["summary"].(map[string]any)
		for key := range summaryWas {
			if _, ok := summaryIs[key]; !ok {
				t.Errorf("the summary lost %s", key)
			}
		}
		delete(was, "summary")
		delete(is, "summary")
		if d := cmp.Diff(was, is); d != "" {
			t.Errorf("%s (-read +written)\n%s", path, d)
		}
		again, err := spanfile.ReadSnapshot(b.Bytes(), "again")
		if err != nil {
			t.Fatal(err)
		}
		var b2 bytes.Buffer
		if err := again.Write(&b2, summarise(again)); err != nil || b2.String() != b.String() {
			t.Errorf("%s: written again, it differs: %v", path, err)
		}
	}
}

// accepted checks what the types of the original tool require.
func accepted(t *testing.T, s map[string]any) {
	t.Helper()
	want := func(of map[string]any, where string, keys ...string) {
		for _, k := range keys {
			if _, ok := of[k]; !ok {
				t.Errorf("%s has no %s", where, k)
			}
		}
	}
	want(s, "the snapshot", "timestamp", "promptCount", "sourceFile", "judgeModel", "results", "summary")
	want(s["summary"].(map[string]any), "the summary", "avgScore", "avgSpanCount", "scoreDistribution", "errorCount", "pipelineSources", "spanSources",
		"avgCategoryScores", "falsePositiveReasons", "topTaxonomyErrors", "errorsBySection", "confidenceAnalysis")
	for _, r := range s["results"].([]any) {
		want(r.(map[string]any), "a result", "promptId", "input", "output", "spanCount", "spans", "meta", "judgeResult", "error", "latencyMs")
	}
}

// A made-up judged result.
type made struct {
	ID     string
	Spans  []spanfile.SnapshotSpan
	Judge  *verdict.Result
	Failed string
}

func (m made) result() spanfile.SnapshotResult {
	r := spanfile.SnapshotResult{PromptID: m.ID, Output: "0123456789", Spans: m.Spans, JudgeResult: []byte("null"), Meta: []byte("null")}
	if m.Judge != nil {
		r.JudgeResult = m.Judge.Encode()
	}
	if m.Failed != "" {
		r.Error = &m.Failed
	}
	return r
}

func file(results []made) *spanfile.SnapshotFile {
	f := &spanfile.SnapshotFile{}
	for _, m := range results {
		f.Results = append(f.Results, m.result())
	}
	return f
}

func results() *rapid.Generator[[]made] {
	return rapid.Custom(func(t *rapid.T) []made {
		var list []made
		for i := range rapid.IntRange(0, 8).Draw(t, "results") {
			m := made{ID: fmt.Sprint("p", i)}
			for k := range rapid.IntRange(0, 5).Draw(t, "spans") {
				confidence := rapid.SampledFrom([]float64{0, 0.3, 0.59, 0.6, 0.7, 0.799, 0.8, 0.95, 1}).Draw(t, "confidence")
				m.Spans = append(m.Spans, spanfile.SnapshotSpan{Text: fmt.Sprint(k), Role: "style", Start: k, End: k + 1, Confidence: &confidence})
			}
			switch rapid.IntRange(0, 5).Draw(t, "state") {
			case 0:
				m.Failed = "no model"
			case 1: // no judgement
			case 2:
				v := verdict.Empty()
				v.Notes = "Judge failed: 429"
				m.Judge = &v
			default:
				v := judged(t, m.Spans)
				m.Judge = &v
			}
			list = append(list, m)
		}
		return list
	})
}

func judged(t *rapid.T, spans []spanfile.SnapshotSpan) verdict.Result {
	v := verdict.Empty()
	score := func(name string) float64 { return float64(rapid.IntRange(1, 5).Draw(t, name)) }
	v.Scores = verdict.Scores{Coverage: score("coverage"), Precision: score("precision"), Granularity: score("granularity"), Taxonomy: score("taxonomy"), TechnicalSpecs: score("technical")}
	v.TotalScore = v.Scores.Total()
	for _, c := range reader.Taxonomy.Categories {
		if rapid.Bool().Draw(t, c.Name) {
			v.CategoryScores[c.Name] = &verdict.CategoryScore{Coverage: score("coverage"), Precision: score("precision")}
		}
	}
	role := rapid.SampledFrom(reader.Taxonomy.Roles())
	for k, s := range spans {
		kinds := rapid.IntRange(0, 15).Draw(t, "errors")
		if kinds&1 != 0 && kinds&8 != 0 {
			v.FalsePositives = append(v.FalsePositives, verdict.FalsePositive{SpanIndex: verdict.Index(k), Text: s.Text, AssignedRole: s.Role, Reason: rapid.SampledFrom(reader.Taxonomy.Reasons).Draw(t, "reason")})
		}
		if kinds&2 != 0 && kinds&8 != 0 {
			v.TaxonomyErrors = append(v.TaxonomyErrors, verdict.Confusion{SpanIndex: verdict.Index(k), Text: s.Text, AssignedRole: role.Draw(t, "assigned"), ExpectedRole: role.Draw(t, "expected")})
		}
		if kinds&4 != 0 && kinds&8 != 0 {
			v.GranularityErrors = append(v.GranularityErrors, verdict.Granularity{SpanIndex: verdict.Index(k), Text: s.Text, Issue: "too_fine"})
		}
	}
	return v
}

func ofJudged(list []made) []*verdict.Result {
	var all []*verdict.Result
	for _, m := range list {
		if m.Judge != nil && m.Failed == "" {
			if _, failed := m.Judge.Failure(); !failed {
				all = append(all, m.Judge)
			}
		}
	}
	return all
}

// Property 5: average category scores are the arithmetic means over the judged
// results that have the category.
func TestProperty5CategoryScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		s := summarise(file(list))
		for _, c := range reader.Taxonomy.Categories {
			var coverage, precision, n float64
			for _, v := range ofJudged(list) {
				if score := v.CategoryScores[c.Name]; score != nil {
					coverage, precision, n = coverage+score.Coverage, precision+score.Precision, n+1
				}
			}
			if n > 0 {
				coverage, precision = coverage/n, precision/n
			}
			if got := s.AvgCategoryScores[c.Name]; !(math.Abs(got.Coverage-coverage) <= 1e-12) || !(math.Abs(got.Precision-precision) <= 1e-12) {
				t.Fatalf("%s: %+v, want %v and %v", c.Name, got, coverage, precision)
			}
		}
		total := 0.0
		for _, v := range ofJudged(list) {
			total += v.TotalScore
		}
		if n := float64(len(ofJudged(list))); n > 0 && !(math.Abs(s.AvgScore-total/n) <= 1e-12) || n == 0 && (s.AvgScore != 0 || len(s.TopTaxonomyErrors) != 0) {
			t.Fatalf("average %v of %v", s.AvgScore, total)
		}
		if s.JudgedResults+s.JudgeFailures+s.NotJudged+s.ErrorCount != len(list) {
			t.Fatalf("%+v of %d results", s, len(list))
		}
	})
}

// Property 6: reasons are counted, and the ten most frequent confusions are listed
// by count and then name.
func TestProperty6Errors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		s := summarise(file(list))
		reasons, confusions := map[string]int{}, map[string]int{}
		for _, r := range reader.Taxonomy.Reasons {
			reasons[r] = 0
		}
		for _, v := range ofJudged(list) {
			for _, e := range v.FalsePositives {
				reasons[e.Reason]++
			}
			for _, e := range v.TaxonomyErrors {
				if e.AssignedRole != e.ExpectedRole {
					confusions[e.AssignedRole+" → "+e.ExpectedRole]++
				}
			}
		}
		if d := cmp.Diff(reasons, s.FalsePositiveReasons); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
		names := slices.SortedFunc(maps.Keys(confusions), func(a, b string) int {
			if confusions[a] != confusions[b] {
				return confusions[b] - confusions[a]
			}
			return strings.Compare(a, b)
		})
		var want, got []string
		for _, n := range names[:min(10, len(names))] {
			want = append(want, fmt.Sprint(n, " ", confusions[n]))
		}
		for _, c := range s.TopTaxonomyErrors {
			got = append(got, fmt.Sprint(c.AssignedRole, " → ", c.ExpectedRole, " ", c.Count))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Property 7: a snapshot without any of the enhanced fields, or with null for them, loads and
// is summarised anew.
func TestProperty7OldSnapshots(t *testing.T) {
	f := open(t, run1)
	rapid.Check(t, func(t *rapid.T) {
		var keys map[string]any
		if err := json.Unmarshal(f.Summary, &keys); err != nil {
			t.Fatal(err)
		}
		enhanced := []string{"avgCategoryScores", "falsePositiveReasons", "topTaxonomyErrors", "errorsBySection", "confidenceAnalysis"}
		for _, name := range enhanced {
			switch rapid.IntRange(0, 2).Draw(t, name) {
			case 0:
				delete(keys, name)
			case 1:
				keys[name] = nil
			}
		}
		old := map[string]any{"summary": keys, "results": []any{map[string]any{"promptId": "a", "input": "x"},
			map[string]any{"promptId": "b", "judgeResult": map[string]any{"scores": map[string]any{"coverage": 3, "precision": 3, "granularity": 3, "taxonomy": 3, "technicalSpecs": 3},
				"totalScore": 15, "missedElements": []string{"sky"}, "incorrectExtractions": []string{"x"}, "notes": "n"}}}}
		data, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		read, err := spanfile.ReadSnapshot(data, "old")
		if err != nil {
			t.Fatal(err)
		}
		if m := summarise(read); m.JudgedResults != 1 || m.NotJudged != 1 || m.AvgScore != 15 || m.ParseSteps[verdict.Basic] != 1 ||
			len(m.AvgCategoryScores) != 9 || m.AvgCategoryScores["shot"] != (verdict.CategoryScore{}) || m.FalsePositiveReasons[label.Other] != 1 || m.ErrorsBySection == nil {
			t.Fatalf("%+v", m)
		}
	})
}

// Property 8: spans are counted in the bucket of their confidence, with their
// errors.
func TestProperty8Buckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		c := summarise(file(list)).ConfidenceAnalysis
		want := map[string][3]int{}
		for _, m := range list {
			if m.Judge == nil || m.Failed != "" {
				continue
			}
			if _, failed := m.Judge.Failure(); failed {
				continue
			}
			for k, s := range m.Spans {
				name := "low"
				if *s.Confidence >= 0.8 {
					name = "high"
				} else if *s.Confidence >= 0.6 {
					name = "medium"
				}
				n := want[name]
				n[0]++
				about := func(i verdict.Index) bool { return int(i) == k }
				spurious := slices.ContainsFunc(m.Judge.FalsePositives, func(e verdict.FalsePositive) bool { return about(e.SpanIndex) })
				if spurious || slices.ContainsFunc(m.Judge.TaxonomyErrors, func(e verdict.Confusion) bool { return about(e.SpanIndex) }) ||
					slices.ContainsFunc(m.Judge.GranularityErrors, func(e verdict.Granularity) bool { return about(e.SpanIndex) }) {
					n[1]++
				}
				if spurious {
					n[2]++
				}
				want[name] = n
			}
		}
		if len(want) == 0 {
			if c != nil {
				t.Fatalf("an analysis of nothing: %+v", c)
			}
			return
		}
		names, buckets := c.Buckets.List()
		for i, b := range buckets {
			n := want[names[i]]
			rate := 0.0
			if n[0] > 0 {
				rate = float64(n[1]) / float64(n[0])
			}
			if [3]int{b.Total, b.Errors, b.FalsePositives} != n || b.ErrorRate != rate {
				t.Fatalf("%s: %+v, want %v", names[i], b, n)
			}
		}
	})
}

// Property 9: the threshold is the upper border of the highest bucket below 0.8
// with an error rate above one half.
func TestProperty9Threshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := summarise(file(results().Draw(t, "results"))).ConfidenceAnalysis
		if c == nil {
			return
		}
		switch b, got := c.Buckets, c.RecommendedThreshold; {
		case b.Medium.ErrorRate > 0.5:
			if got == nil || *got != 0.8 {
				t.Fatalf("medium %v: threshold %v", b.Medium.ErrorRate, got)
			}
		case b.Low.ErrorRate > 0.5:
			if got == nil || *got != 0.6 {
				t.Fatalf("low %v: threshold %v", b.Low.ErrorRate, got)
			}
		case got != nil:
			t.Fatalf("threshold %v of %+v", *got, b)
		}
	})
}

// A rate and its interval are of the same weights: a text of which one replicate was judged counts as
// much as one with three.
func TestConfidenceOfUnequalReplicates(t *testing.T) {
	tally := reader.NewTally()
	add := func(id string, errors ...verdict.FalsePositive) {
		l := snapshot.Labelled{ID: id, State: snapshot.Judged, Verdict: verdict.Parsed{Result: verdict.Empty()}, Spans: []spanfile.Span{{Text: "x", Role: "style", Confidence: 0.9}}, Notes: []string{""}}
		l.Verdict.Result.FalsePositives = append(l.Verdict.Result.FalsePositives, errors...)
		tally.Add(&l)
	}
	for range 3 {
		add("a", verdict.FalsePositive{SpanIndex: 0})
	}
	add("b")
	summary := tally.Summary()
	b := summary.ConfidenceAnalysis.Buckets.High
	if b.Total != 4 || b.Errors != 3 || b.ErrorRate != 0.5 || b.FalsePositiveRate != 0.5 || !(b.ErrorRateLow < 0.5 && b.ErrorRateHigh > 0.5) {
		t.Errorf("%+v", b)
	}
	for _, table := range summary.Tables() {
		if table.Name == "confidence" && table.Rows[0][3].Value != 0.5 {
			t.Errorf("the table shows %+v", table.Rows[0])
		}
	}
}

// Spans of a text, and texts of a cluster, depend on each other; replicates of a text are no others.
// By hand, of 20 texts with 10 spans, of which 10 texts are all wrong: Wilson's interval of 10 of 20,
// 0.299 to 0.701, is that of texts alike in themselves; of half the clusters, 5 of 10, 0.237 to 0.763.
// The bounds leave room for the quantile of t instead of z.
func TestConfidenceClusters(t *testing.T) {
	for name, test := range map[string]struct {
		perCluster, replicates int
		least, most            float64 // of the lower limit
	}{
		"texts":      {1, 1, 0.27, 0.30},
		"clusters":   {2, 1, 0.20, 0.24},
		"replicates": {1, 3, 0.27, 0.30},
	} {
		tally := reader.NewTally()
		for range test.replicates {
			for i := range 20 {
				l := snapshot.Labelled{ID: fmt.Sprint("t", i), State: snapshot.Judged, Verdict: verdict.Parsed{Result: verdict.Empty()}}
				if test.perCluster > 1 {
					l.Cluster = fmt.Sprint("c", i%10)
				}
				for k := range 10 {
					l.Spans, l.Notes = append(l.Spans, spanfile.Span{Text: "x", Role: "style", Confidence: 0.9}), append(l.Notes, "")
					if i%20 < 5 || i >= 10 && i < 15 {
						l.Verdict.Result.FalsePositives = append(l.Verdict.Result.FalsePositives, verdict.FalsePositive{SpanIndex: verdict.Index(k)})
					}
				}
				tally.Add(&l)
			}
		}
		c := tally.Summary().ConfidenceAnalysis
		b, r := c.Buckets.High, c.Reliability[0]
		if b.ErrorRate != 0.5 || b.Total != 200*test.replicates || !(float64(b.ErrorRateLow) >= test.least && float64(b.ErrorRateLow) <= test.most) || !(math.Abs(float64(b.ErrorRateLow+b.ErrorRateHigh)-1) < 1e-9) {
			t.Errorf("%s: %+v", name, b)
		}
		if !(math.Abs(float64(r.CILow-b.ErrorRateLow)) < 1e-9) || r.Texts != 20 || r.N != b.Total {
			t.Errorf("%s: %+v", name, r)
		}
		if r.Accuracy != 0.5 {
			t.Errorf("%s: accuracy %v", name, r.Accuracy)
		}
		if c.ECE.Low.Defined() || c.ECE.N != 20 || !(math.Abs(float64(c.ECE.Value)-0.4) < 1e-9) {
			t.Errorf("%s: %+v", name, c.ECE)
		}
	}
}

// A file of one text has rates without an interval, and is written.
func TestConfidenceOfOneText(t *testing.T) {
	v := verdict.Empty()
	v.FalsePositives = []verdict.FalsePositive{{SpanIndex: 1, Text: "b", Reason: "other"}}
	f, err := spanfile.ReadSnapshot([]byte(`{"results": [{"promptId": "p", "output": "ab", "spans": [{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","confidence":0.1,"start":1,"end":2}], "meta": null, "error": null, "judgeResult": `+string(v.Encode())+`}]}`), "one")
	if err != nil {
		t.Fatal(err)
	}
	m := summarise(f)
	if c := m.ConfidenceAnalysis; c == nil || c.AUROC.Value != 1 || c.Buckets.Low.ErrorRate != 1 || c.Buckets.Low.ErrorRateLow.Defined() || c.Buckets.High.ErrorRateHigh.Defined() {
		t.Errorf("%+v", c)
	}
	if err := f.Write(io.Discard, m); err != nil {
		t.Error(err)
	}
}

// A span without a confidence, or with one that is not from 0 to 1, is in no bucket: it
// is counted apart, however the file is decoded, and written as it was read.
func TestMissingConfidence(t *testing.T) {
	v := verdict.Empty()
	v.Scores = verdict.Scores{Coverage: 3, Precision: 3, Granularity: 3, Taxonomy: 3, TechnicalSpecs: 3}
	v.TotalScore = 15
	v.FalsePositives = []verdict.FalsePositive{{SpanIndex: 1, Text: "b", Reason: "other"}}
	for name, spans := range map[string]string{
		"missing":  `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","start":1,"end":2},{"text":"c","role":"style","start":2,"end":3}`,
		"in depth": `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","start":1,"end":2,"more":[1]},{"text":"c","role":"style","start":2,"end":3}`,
		"null":     `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","confidence":null,"start":1,"end":2},{"text":"c","role":"style","start":2,"end":3}`,
		"per cent": `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","confidence":95,"start":1,"end":2},{"text":"c","role":"style","confidence":-1,"start":2,"end":3}`,
	} {
		text := `{"results": [{"promptId": "p", "output": "abc", "spans": [` + spans + `], "meta": null, "error": null, "judgeResult": ` + string(v.Encode()) + `}]}`
		f, err := spanfile.ReadSnapshot([]byte(text), name)
		if err != nil {
			t.Fatal(err)
		}
		m := summarise(f)
		if c := m.ConfidenceAnalysis; m.NoConfidence != 2 || c == nil || c.Buckets.High.Total != 1 || c.Buckets.Low.Total != 0 || c.Buckets.Medium.Total != 0 || c.RecommendedThreshold != nil || !(math.Abs(float64(c.ECE.Value)-0.1) <= 1e-12) {
			t.Errorf("%s: %d without a confidence, %+v", name, m.NoConfidence, c)
		}
		var b bytes.Buffer
		if err := f.Write(&b, summarise(f)); err != nil || strings.Contains(strings.ReplaceAll(b.String(), " ", ""), `"confidence":0,`) {
			t.Errorf("%s: %v, written with a confidence of 0\n%s", name, err, b.String())
		}
	}
}

// Property 10: a comparison has the differences of category scores, and the
// confusions that are new and resolved.
func TestProperty10Comparison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, is := results().Draw(t, "baseline"), results().Draw(t, "current")
		a, b := summarise(file(was)), summarise(file(is))
		tables := snapshot.Changes(a, b)
		both := 0
		for _, c := range reader.Taxonomy.Categories {
			if a.AvgCategoryScores[c.Name].Coverage > 0 && b.AvgCategoryScores[c.Name].Coverage > 0 {
				both++
			}
		}
		if len(tables[0].Rows) != both {
			t.Fatalf("%d rows of categories, want %d", len(tables[0].Rows), both)
		}
		for _, row := range tables[0].Strings() {
			x, y := a.AvgCategoryScores[row[0]], b.AvgCategoryScores[row[0]]
			for at, want := range map[int]float64{2: y.Coverage - x.Coverage, 4: y.Precision - x.Precision} {
				got, err := strconv.ParseFloat(strings.Replace(row[at], "−", "-", 1), 64)
				if err != nil || !(math.Abs(got-want) <= 0.0005+1e-9) || want > 0.01 && row[at][0] != '+' {
					t.Fatalf("%v of %+v and %+v", row, x, y)
				}
			}
		}
		confusions := func(list []made) map[string]bool {
			set := map[string]bool{}
			for _, v := range ofJudged(list) {
				for _, e := range v.TaxonomyErrors {
					if e.AssignedRole != e.ExpectedRole {
						set[e.AssignedRole+"→"+e.ExpectedRole] = true
					}
				}
			}
			return set
		}
		check := func(what string, in, without map[string]bool) {
			want, got := 0, 0
			for k := range in {
				if !without[k] {
					want++
				}
			}
			for _, row := range tables[1].Strings() {
				if row[0] != what {
					continue
				}
				if name := row[1] + "→" + row[2]; !in[name] || without[name] {
					t.Fatalf("%s: %s", what, name)
				}
				got++
			}
			if got != min(10, want) {
				t.Fatalf("%s: %d, want %d", what, got, want)
			}
		}
		check("new", confusions(is), confusions(was))
		check("resolved", confusions(was), confusions(is))
		if self := snapshot.Changes(a, a); len(self[1].Rows) > 0 || len(self[2].Rows) > 0 {
			t.Fatalf("a snapshot against itself: %+v", self)
		}
	})
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                   "EOF",
		`[]`:                 "reading a snapshot",
		`{"timestamp": "x"}`: "there are no results",
		`{"results": 3}`:     "within \"/results\"",
		`{"results": [1]}`:   "within \"/results/0\"",
		`{"results": [{"promptId": "a"}, {"spans": 3}]}`:      "within \"/results/1/spans\"",
		`{"results": [{"promptId": "a"}`:                      "EOF",
		`{"results": [{"promptId": "a"}, {"promptId": "a"}]}`: `results[1]: duplicate promptId "a"`,
		`{"results": [{}]}`:                                   "results[0] has no promptId",
		// Two snapshots in one file, as cat makes it, and lists that would be merged.
		`{"results": []}{"results": []}`:                                                               "after top-level value",
		`{"results": [], "x": 1}` + "\n" + `{"results": []}`:                                           "after top-level value",
		`{"results": []} tail`:                                                                         "after top-level value",
		`{"results": [{"promptId": "a"}], "results": []}`:                                              `duplicate object member name "results"`,
		`{"timestamp": "t", "results": [], "timestamp": "u"}`:                                          `duplicate object member name "timestamp"`,
		`{"results": [{"promptId": "a", "promptId": "b"}]}`:                                            `"promptId" within "/results/0`,
		`{"results": [{"promptId": "a", "spans": [{"text": "x", "start": 0, "end": 1, "start": 1}]}]}`: `"start" within "/results/0/spans/0`,
	} {
		if _, err := spanfile.ReadSnapshot([]byte(text), "f"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"results": []}` + "\n \t", `{"results": [], "x": 1}` + "\r\n"} {
		if _, err := spanfile.ReadSnapshot([]byte(text), "f"); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRead: no file makes the reader, the summary or the tables panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"results": [{"promptId": "a", "output": "x", "spans": [{"text": "x", "start": 9, "end": -1, "confidence": 7}], "judgeResult": {"scores": 1}}]}`))
	f.Add([]byte(`{"results": [{"promptId": "a", "meta": 3, "metadata": {"sections": {"main": null}}, "judgeResult": {"totalScore": 1e300, "categoryScores": {"shot": null}}}], "summary": 7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := spanfile.ReadSnapshot(data, "f")
		if err != nil {
			return
		}
		s := summarise(file)
		_ = s.Tables()
		_ = snapshot.Changes(s, s)
		if err := file.Write(io.Discard, s); err != nil {
			t.Fatal(err)
		}
	})
}

// A missed element belongs to the section that has its text, in any case, also beside letters whose
// lower case has another length.
func TestMissedBySection(t *testing.T) {
	text := "İzmir at dusk, 35 K. **TECHNICAL SPECS** Slow Motion"
	data, err := json.Marshal(map[string]any{"results": []any{map[string]any{"promptId": "p", "input": text, "output": text, "spans": []any{},
		"judgeResult": map[string]any{"scores": map[string]int{"coverage": 3, "precision": 3, "granularity": 3, "taxonomy": 3, "technicalSpecs": 3}, "totalScore": 15,
			"missedElements": []any{
				map[string]any{"text": "Dusk", "expectedRole": "lighting.timeOfDay", "category": "lighting", "severity": "minor"},
				map[string]any{"text": "slow motion", "expectedRole": "technical.frameRate", "category": "technical", "severity": "minor"},
				map[string]any{"text": "rain", "expectedRole": "environment.weather", "category": "environment", "severity": "minor"},
			},
			"falsePositives": []any{}, "taxonomyErrors": []any{}, "granularityErrors": []any{}, "categoryScores": map[string]any{}, "notes": ""}}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := spanfile.ReadSnapshot(data, "s.json")
	if err != nil {
		t.Fatal(err)
	}
	got := summarise(f).ErrorsBySection
	want := map[string]snapshot.SectionErrors{"main": {Missed: 1}, "technicalSpecs": {Missed: 1}, "alternatives": {}, snapshot.Unknown: {Missed: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestChangesAreTheSame: the numbers of a comparison do not depend on the order of a map.
func TestChangesAreTheSame(t *testing.T) {
	summary := func(step float64) *snapshot.Summary {
		tally := reader.NewTally()
		for i := range 120 {
			l := snapshot.Labelled{ID: fmt.Sprint(i / 2), State: snapshot.Judged}
			l.Verdict.Result.TotalScore = 5 + step*float64(i)
			tally.Add(&l)
		}
		return tally.Summary()
	}
	was, is := summary(0.1), summary(0.13)
	want, err := json.Marshal(snapshot.Changes(was, is))
	for range 20 {
		got, errGot := json.Marshal(snapshot.Changes(was, is))
		if err != nil || errGot != nil || !bytes.Equal(got, want) {
			t.Fatalf("a comparison has %s, then %s", want, got)
		}
	}
}

package spanfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/spanfile"
)

func read(t testing.TB, text string) *spanfile.Data {
	t.Helper()
	d, err := spanfile.ReadFrom(strings.NewReader(text), spanfile.Options{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readFile(path string, o spanfile.Options) (*spanfile.Data, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o.Name = path
	return spanfile.Parse(data, o)
}

const example = "../../examples/spans/data"

// The golden sets have the texts and spans that their source says. Two offsets of
// edge-002 follow emoji: as UTF-16, the unit of the tool that wrote them, all are
// right; as code points two are wrong and realigned.
func TestGoldenSets(t *testing.T) {
	docs, spans := 0, 0
	for _, name := range []string{"core", "camera-movement", "technical", "edge-cases"} {
		path := filepath.Join(example, name+"-prompts.json")
		if name == "edge-cases" {
			path = filepath.Join(example, name+".json")
		}
		for unit, want := range map[spanfile.Unit]int{"": 0, spanfile.CodePoints: 0} {
			d, err := readFile(path, spanfile.Options{Offsets: unit})
			if err != nil {
				t.Fatal(err)
			}
			if unit == spanfile.CodePoints && name == "edge-cases" {
				want = 2
			}
			realigned := 0
			for _, doc := range d.Docs {
				realigned += doc.Realigned
				if doc.Unaligned > 0 || !doc.Labelled || doc.Group == "" {
					t.Errorf("%+v", doc)
				}
				if unit == "" {
					docs, spans = docs+1, spans+len(doc.Spans)
				}
			}
			if d.Format != spanfile.Prompts || realigned != want || (len(d.Warnings) > 0) != (want > 0) {
				t.Errorf("%s in %q: %d realigned, want %d; %v", path, unit, realigned, want, d.Warnings)
			}
		}
	}
	if docs != 24 || spans != 123 { // SOURCE.md
		t.Errorf("%d prompts, %d spans", docs, spans)
	}
}

// A TSV is a table by its header, and else tokens with their tags.
func TestTSV(t *testing.T) {
	const spans = `"[{""start"":0,""end"":3,""label"":""person""}]"`
	for content, want := range map[string]string{
		"id\ttext\tspans\nx\tAnn met Bob.\t" + spans + "\n":           spanfile.JSONL,
		"\ufefftext\tid\tspans\r\nAnn met Bob.\tx\t" + spans + "\r\n": spanfile.JSONL,
		"spans\ttext\n" + spans + "\tAnn met Bob.":                    spanfile.JSONL,
		"Ann\tB-person\nmet\tO\nBob.\tO\n":                            spanfile.CoNLL,
	} {
		d, err := spanfile.Parse([]byte(content), spanfile.Options{Name: "d.TSV.gz"})
		if err != nil || d.Format != want || len(d.Docs) != 1 || d.Docs[0].Text != "Ann met Bob." || len(d.Docs[0].Spans) != 1 || d.Docs[0].Spans[0].Text != "Ann" || d.Docs[0].Spans[0].Role != "person" {
			t.Errorf("%q: %+v, %v", content, d, err)
		}
	}
	for content, o := range map[string]spanfile.Options{"text\tO\n": {Name: "d.tsv"}, "id\ttext\tO\n": {Name: "d"}} { // the token "text"
		if d, err := spanfile.Parse([]byte(content), o); err != nil || d.Format != spanfile.CoNLL {
			t.Errorf("%q: %+v, %v", content, d, err)
		}
	}
	if _, err := spanfile.Parse([]byte("id\ttext\n"), spanfile.Options{Name: "d.tsv", Tagged: true}); err == nil {
		t.Error("a file with tags by its option is read as a table")
	}
}

// The real snapshots: every span is where it says, and one result of each failed.
func TestSnapshots(t *testing.T) {
	for name, want := range map[string][2]int{"run1_2025-12-23T18-27": {54, 1690}, "run2_2025-12-23T18-40": {51, 1649}} {
		d, err := readFile(filepath.Join(example, name+".json.gz"), spanfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		spans, failed := 0, 0
		for _, doc := range d.Docs {
			spans += len(doc.Spans)
			if doc.Failed != "" {
				failed++
			}
			if doc.Realigned+doc.Unaligned > 0 || doc.Result == nil {
				t.Errorf("%s: %+v", name, doc)
			}
		}
		if got := [2]int{len(d.Docs), spans}; got != want || failed != 1 || d.Snapshot.JudgeModel != "gpt-4o" || d.Format != spanfile.Snapshot {
			t.Errorf("%s: %v, %d failed", name, got, failed)
		}
	}
}

// WNUT17: gold and a system's spans, whose offsets agree with the tags.
func TestWNUT17(t *testing.T) {
	const path = "../measure/span/testdata/wnut17_gold_and_systems.jsonl.gz"
	for system, want := range map[string]int{"": 535, "arcada": 414} { // conlleval's counts
		d, err := readFile(path, spanfile.Options{System: system})
		if err != nil {
			t.Fatal(err)
		}
		spans := 0
		for _, doc := range d.Docs {
			spans += len(doc.Spans)
			if doc.Realigned+doc.Unaligned > 0 || len(doc.Tags) != len(doc.Tokens) {
				t.Errorf("%+v", doc)
			}
		}
		if d.Format != spanfile.WNUT17 || len(d.Docs) != 643 || spans != want {
			t.Errorf("%q: %d texts, %d spans", system, len(d.Docs), spans)
		}
	}
	if _, err := readFile(path, spanfile.Options{System: "nobody"}); err == nil || !strings.Contains(err.Error(), `gz:1: text wnut17-test-0000 has no system "nobody"`) {
		t.Error(err)
	}
}

// Exports of Label Studio and Prodigy, as these tools write them.
func TestOtherTools(t *testing.T) {
	studio := read(t, `[{"id": 7, "data": {"text": "🪁 kite"}, "annotations": [{"was_cancelled": true, "result": []},
		{"result": [{"id": "x", "from_name": "label", "to_name": "text", "type": "labels", "value": {"start": 3, "end": 7, "text": "kite", "labels": ["subject"]}},
			{"id": "r", "from_id": "x", "to_id": "x", "type": "relation"}, {"type": "choices", "value": {"choices": ["toy"]}}]}, {"result": []}], "predictions": [], "total_annotations": 2}]`)
	want := []spanfile.Span{{Text: "kite", Role: "subject", Confidence: spanfile.Unstated, Start: 2, End: 6}}
	if d := cmp.Diff(want, studio.Docs[0].Spans); d != "" || studio.Format != spanfile.LabelStudio || studio.Docs[0].ID != "7" ||
		!slices.Equal(studio.Warnings, []string{"f: offsets count UTF-16, as those of older versions of Label Studio do: the texts of regions are there", "f: 1 task has several annotations: the first counts", "f: 2 regions are not labelled passages and left out"}) {
		t.Errorf("%+v\n%s", studio, d)
	}
	studio = read(t, `[{"id": 1, "data": {"text": "🪁 Rome"}, "annotations": [{"result": [{"type": "labels", "value": {"start": 2, "end": 6, "labels": ["City", "Place"]}}]}]}, {"id": 2, "data": {"text": "x"}, "annotations": []}]`)
	if !slices.Equal(studio.Warnings, []string{"f: 1 region has several labels: the first counts", "f: 1 task has no annotation: its spans are unknown",
		"f: 1 region has no text and offsets beside characters beyond U+FFFF: they are taken as code points, older versions of Label Studio count UTF-16: a study that reads the export itself takes them so with `offsets: utf16`"}) {
		t.Errorf("%q", studio.Warnings)
	}
	// What offsets count is told by the texts of regions, of those that have one.
	for unit, regions := range map[spanfile.Unit]string{
		spanfile.CodePoints: `{"type": "labels", "value": {"start": 6, "end": 8, "text": "no", "labels": ["x"]}}, {"type": "labels", "value": {"start": 9, "end": 12, "labels": ["x"]}}`,
		spanfile.UTF16:      `{"type": "labels", "value": {"start": 8, "end": 10, "text": "no", "labels": ["x"]}}, {"type": "labels", "value": {"start": 11, "end": 14, "labels": ["x"]}}`,
	} {
		studio = read(t, `[{"id": 1, "data": {"text": "😀😀 no no end"}, "annotations": [{"result": [`+regions+`]}]}]`)
		want := []spanfile.Span{{Text: "no", Role: "x", Confidence: spanfile.Unstated, Start: 6, End: 8}, {Text: "end", Role: "x", Confidence: spanfile.Unstated, Start: 9, End: 12}}
		if d := cmp.Diff(want, studio.Docs[0].Spans); d != "" || (unit == spanfile.UTF16) != slices.Equal(studio.Warnings, []string{"f: offsets count UTF-16, as those of older versions of Label Studio do: the texts of regions are there"}) {
			t.Errorf("%s: %q\n%s", unit, studio.Warnings, d)
		}
	}
	// A region has its text as the page shows it. Its offsets count, unless the text moved since.
	studio = read(t, `[{"id": 1, "data": {"text": "Acme Corp\nof Delaware and Berlin,  Germany. A simple text: old, Berlin."}, "annotations": [{"result": [
		{"type": "labels", "value": {"start": 0, "end": 21, "text": "Acme Corp\\nof Delaware", "labels": ["x"]}}, {"type": "labels", "value": {"start": 26, "end": 42, "text": "Berlin, Germany", "labels": ["x"]}},
		{"type": "labels", "value": {"start": 46, "end": 57, "text": "ple tex", "labels": ["x"]}}, {"type": "labels", "value": {"start": 59, "end": 62, "text": "new", "labels": ["x"]}},
		{"type": "labels", "value": {"start": 65, "end": 71, "text": "Berlin", "labels": ["x"]}}]}]}]`)
	var placed []spanfile.Span
	for _, s := range []spanfile.Span{{Text: "Acme Corp\nof Delaware", End: 21}, {Text: "Berlin,  Germany", Start: 26, End: 42}, {Text: "simple text", Start: 46, End: 57}, {Text: "old", Start: 59, End: 62}, {Text: "Berlin", Start: 64, End: 70}} {
		s.Role, s.Confidence = "x", spanfile.Unstated
		placed = append(placed, s)
	}
	if d := cmp.Diff(placed, studio.Docs[0].Spans); d != "" || !slices.Equal(studio.Warnings, []string{
		"f: 2 regions have other white space than the text, as Label Studio writes it: the offsets count",
		"f: 2 regions have another text than the document at the offsets, which count: check that they are of this text",
		"f: 1 span was realigned: the text is not at the offsets; check the unit of offsets"}) {
		t.Errorf("%q\n%s", studio.Warnings, d)
	}
	prodigy := read(t, `{"text":"🪁 kite","_input_hash":1,"_task_hash":-2,"tokens":[{"text":"🪁","start":0,"end":1,"id":0}],"spans":[{"start":2,"end":6,"token_start":1,"token_end":1,"label":"subject"}],"_view_id":"ner_manual","answer":"accept"}
{"text":"no","_input_hash":3,"_task_hash":4,"answer":"reject"}`)
	if d := cmp.Diff(want, prodigy.Docs[0].Spans); d != "" || prodigy.Format != spanfile.Prodigy || len(prodigy.Docs) != 1 || prodigy.Docs[0].ID != "-2" || len(prodigy.Warnings) != 1 {
		t.Errorf("%+v\n%s", prodigy, d)
	}
}

// A text is labelled if its list of spans is there, if only an empty one, in any format.
func TestLabelled(t *testing.T) {
	for _, form := range []string{`{"text": "x", %s}`, `{"prompts": [{"text": "x", "groundTruth": {%s}}]}`, `{"results": [{"promptId": "1", "input": "x", %s}]}`,
		"```json\n{\"text\": \"x\", %s}\n```\n", "\n```jsonl\n{\"text\": \"x\", %s}\n```"} {
		for list, want := range map[string]bool{`"spans": []`: true, `"entities": []`: false} {
			if d := read(t, fmt.Sprintf(form, list)); d.Docs[0].Labelled != want {
				t.Errorf("%s with %s is labelled: %v", form, list, !want)
			}
		}
	}
	if d := read(t, "\n```json\n{\"text\": \"x\"}\n```"); d.Docs[0].Line != 3 {
		t.Errorf("line %d", d.Docs[0].Line)
	}
}

// A stated confidence is kept, also one of 1; one that is missing stays missing.
func TestConfidences(t *testing.T) {
	const lines = `{"id":"a","text":"kite","spans":[{"start":0,"end":4,"label":"x","text":"kite","confidence":1},{"start":0,"end":1,"label":"x","text":"k","confidence":0},{"start":0,"end":2,"label":"x","text":"ki"}]}` + "\n"
	d := read(t, lines)
	var got []float64
	for _, s := range d.Docs[0].Spans {
		got = append(got, s.Confidence)
	}
	if want := []float64{1, 0, spanfile.Unstated}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var b bytes.Buffer
	if err := spanfile.Formats[0].Write(&b, d.Docs); err != nil || b.String() != lines {
		t.Errorf("%v, %s", err, b.String())
	}
}

// The same span in each unit of offsets.
func TestOffsets(t *testing.T) {
	for unit, start := range map[spanfile.Unit]int{spanfile.CodePoints: 2, spanfile.UTF16: 3, spanfile.Bytes: 5} {
		text := fmt.Sprintf(`{"id": "a", "text": "🪁 kite", "spans": [{"start": %d, "end": %d, "label": "x"}]}`, start, start+4)
		d, err := spanfile.ReadFrom(strings.NewReader(text), spanfile.Options{Name: "f", Offsets: unit})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Docs[0].Spans[0]; got.Text != "kite" || got.Start != 2 {
			t.Errorf("%s: %+v", unit, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":            "f is empty",
		"\xff":        "f:1: the text is not UTF-8",
		`{"id": "a"}`: "f:1: text a: the text is missing",
		`{"id": "a", "text": "x", "spans": [{"start": 0, "end": 9, "label": "l"}]}`:                  "f:1: text a: spans[0] from 0 to 9 is not a range of the text, which has 1 code points",
		`{"id": "a", "text": "x", "spans": [{"start": 0, "end": 1}]}`:                                "spans[0] has no label",
		`{"id": "a", "text": "x", "spans": [{"label": "l"}]}`:                                        "spans[0] has neither start and end nor text",
		`{"id": "a", "text": "x", "spans": [{"start": 0, "end": 1, "label": "l", "confidence": 2}]}`: "confidence 2: want 0 to 1",
		"{\"id\": \"a\", \"text\": \"x\"}\n{\"id\": \"a\", \"text\": \"y\"}":                         `f:2: duplicate id "a": also text 1`,
		"{\"id\": 7, \"text\": \"x\"}\n{\"id\": 7.0, \"text\": \"y\"}":                               `f:2: duplicate id "7": also text 1`,
		"{\"id\": \"a\", \"text\": \"x\"}\n{\"id\": \"b\", \"text\": 3}":                             "f:2: column",
		`{"id": "a", "text": "x", "Spans": []}`:                                                      `f:1: "Spans" is not "spans": rename it`,
		`{"id": "a", "text": "x", "span": []}`:                                                       `f:1: "span" is not "spans": rename it`,
		`[{"id": 1, "text": "EU", "label": [], "annotator": 1, "annotation_id": 3}]`:                 "f: an export JSON-MIN of Label Studio, which is not read: export it as JSON",
		`{"id": "a", "text": "EU", "label": [[0, 2, "ORG"]]}`:                                        `f:1: "label" is not "spans": rename it`, // of doccano
		`[{"id": 1, "text": "x", "labels": []}, {"id": 2, "text": "EU", "label": [{"start": 0}]}]`:   `f:2: "label" is not "spans": rename it`, // of Label Studio, JSON-MIN
		`{"id": "a", "text": "EU", "entities": [{"id": 1, "label": "ORG"}]}`:                         `f:1: "entities" is not "spans": rename it`,
		`{"id": "a", "text": "x", "spans": [], "clusters": "c"}`:                                     `f:1: "clusters" is not "cluster": rename it`,
		`{"ID": "a", "text": "x"}`:                                                                   `f:1: "ID" is not "id": rename it`,
		`{"id": "a", "text": "x", "split": "train"}`:                                                 `split "train": want dev or test`,
		"a\n":              `f:1: "a" has no tag`,
		`[{"data": 3}]`:    "f:",
		`{"prompts": 3}`:   "reading prompts",
		`{"results": [3]}`: "/results/0",
	} {
		_, err := spanfile.ReadFrom(strings.NewReader(text), spanfile.Options{Name: "f"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	// All errors of a file are reported.
	_, err := spanfile.ReadFrom(strings.NewReader("{\"id\": \"a\"}\n{\"id\": \"b\"}"), spanfile.Options{Name: "f"})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Error(err)
	}
}

// What a format has no place for is left out, and counted: texts of which it is not known that they
// have no spans, and of tags spans within others and parts of words.
func TestFit(t *testing.T) {
	at := func(start, end int) spanfile.Span { return spanfile.Span{Text: "x", Role: "a", Start: start, End: end} }
	docs := []spanfile.Doc{{ID: "1", Text: "no no-end here", Labelled: true, Spans: []spanfile.Span{at(0, 2), at(0, 9), at(3, 5), at(6, 9), at(10, 14), at(-1, -1)}}, {ID: "2", Text: "no"}}
	for _, f := range spanfile.Formats {
		want := spanfile.Loss{Dropped: 1}
		switch f.Name {
		case spanfile.Prodigy:
			want.Open = 1
		case spanfile.WNUT17, spanfile.CoNLL:
			want = spanfile.Loss{Open: 1, Dropped: 3, Widened: 1}
		}
		fit, loss := f.Fit(docs)
		if loss != want || len(fit) != 2-want.Open {
			t.Errorf("%s: %d texts without %+v, want %+v", f.Name, len(fit), loss, want)
		}
	}
}

// Every format keeps texts and spans on the way out and back. CoNLL has words, and
// ids of its own.
func TestRoundTrips(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abñ🪁中")), 1, 4, -1)
	docs := rapid.Custom(func(t *rapid.T) []spanfile.Doc {
		var list []spanfile.Doc
		for i := range rapid.IntRange(1, 4).Draw(t, "texts") {
			words := rapid.SliceOfN(word, 1, 6).Draw(t, "words")
			d := spanfile.Doc{ID: fmt.Sprint("t", i), Text: strings.Join(words, " "), Labelled: true}
			at := 0
			for _, w := range words {
				n := len([]rune(w))
				if rapid.Bool().Draw(t, "labelled") {
					d.Spans = append(d.Spans, spanfile.Span{Text: w, Role: rapid.SampledFrom([]string{"a", "b.c"}).Draw(t, "role"), Confidence: spanfile.Unstated, Start: at, End: at + n})
				}
				at += n + 1
			}
			list = append(list, d)
		}
		return list
	})
	rapid.Check(t, func(t *rapid.T) {
		want := docs.Draw(t, "docs")
		for _, to := range spanfile.Formats {
			name := to.Name
			var b bytes.Buffer
			if err := to.Write(&b, want); err != nil {
				t.Fatal(err)
			}
			got, err := spanfile.ReadFrom(bytes.NewReader(b.Bytes()), spanfile.Options{Name: name})
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, b.String())
			}
			if len(got.Docs) != len(want) {
				t.Fatalf("%s: %d texts, want %d", name, len(got.Docs), len(want))
			}
			for i, d := range got.Docs {
				if name != spanfile.CoNLL && d.ID != want[i].ID || d.Text != want[i].Text || cmp.Diff(want[i].Spans, d.Spans) != "" {
					t.Fatalf("%s: %+v, want %+v\n%s", name, d, want[i], b.String())
				}
			}
		}
	})
}

// FuzzRead: no file makes the reader panic, and every span is in its text or has
// no place.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"text": "x", "spans": [{"start": 0, "end": 1, "label": "l", "text": "y"}]}`, `{"prompts": [{"text": "x", "groundTruth": {"spans": null}}]}`,
		`[{"data": {"text": "x"}, "annotations": [{"result": [{"type": "labels", "value": {"labels": ["l"]}}]}]}]`, `{"results": [{"output": "x", "spans": [{"text": "x", "role": "r"}]}]}`,
		"a B-x\n", `{"id": 1, "tokens": ["x"], "gold": [], "systems": {}, "text": "x"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := spanfile.ReadFrom(strings.NewReader(text), spanfile.Options{Name: "f"})
		if err != nil {
			return
		}
		for _, doc := range d.Docs {
			r := spanfile.NewRuler(doc.Text)
			for _, s := range doc.Spans {
				if s.Placed() && r.Slice(s.Start, s.End) != s.Text {
					t.Fatalf("%+v is not in %q", s, doc.Text)
				}
			}
		}
		for _, to := range spanfile.Formats {
			if err := to.Write(&bytes.Buffer{}, d.Docs); err != nil {
				t.Fatal(err)
			}
		}
	})
}

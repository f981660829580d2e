package spanfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/spanfile"
)

func tagged(text string) ([]spanfile.Doc, error) {
	d, err := spanfile.ReadFrom(strings.NewReader(text), spanfile.Options{Name: "f", Tagged: true})
	if err != nil {
		return nil, err
	}
	return d.Docs, nil
}

func TestReadCoNLL(t *testing.T) {
	got, err := tagged("\ufeffa B-x B-x\nb I-x O\r\n\n \n-X- O O\n# O I-y-z\n")
	want := []spanfile.Doc{{Line: 1, Tokens: []string{"a", "b"}, Tags: []string{"B-x", "O"}, Other: []string{"B-x", "I-x"}, Text: "a b", Labelled: true,
		Spans: []spanfile.Span{{Text: "a", Role: "x", Confidence: spanfile.Unstated, Start: 0, End: 1}}},
		{Line: 6, Tokens: []string{"#"}, Tags: []string{"I-y-z"}, Other: []string{"O"}, Text: "#", Labelled: true,
			Spans: []spanfile.Span{{Text: "#", Role: "y-z", Confidence: spanfile.Unstated, Start: 0, End: 1}}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	if got, err := tagged("[ O O\n{ O O\n"); err != nil || got[0].Text != "[ {" { // brackets are tokens, too
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := tagged("1 O\n2 O\n\n1 O\n3 O\n"); err != nil || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := tagged("-DOCSTART- -X- O\nBob -X- _ B-PER\nmet -X- _ O\n-DOCSTART-\nEve -X- _ O\n"); err != nil || len(got) != 4 || got[1].Text != "Bob met" || got[3].Text != "Eve" { // as Label Studio writes it
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"a O\nb\n":     `f:2: "b" has no tag`,
		"a O\nb O O\n": "f:2: 3 columns, but 2 in the first line",
		"1\tSchartau\tB-PER\tO\n2\tsagte\tO\tO\n\n1\tBerlin\tB-LOC\tB-LOC\n": "f:1: the first column numbers the tokens of each sentence",
		"a O\n\nb X-y\n": `f:3: tag "X-y": want O, or B-, I-, E- or S-`,
	} {
		if _, err := tagged(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What is written is read again: a token -X- is no end of a sentence, texts without words are left
// out, and only spans that are written are counted as widened.
func TestCoNLLAgain(t *testing.T) {
	at := func(start, end int) spanfile.Span { return spanfile.Span{Role: "x", Start: start, End: end} }
	docs := []spanfile.Doc{{Text: "see -X- here", Spans: []spanfile.Span{at(0, 12)}, Labelled: true}, {Text: "an -X- alone", Labelled: true}, {Text: " \n ", Labelled: true}, {Text: "a\x00b", Labelled: true},
		{Text: "foobar baz", Spans: []spanfile.Span{at(0, 3), at(3, 6)}, Labelled: true}}
	i := slices.IndexFunc(spanfile.Formats, func(f spanfile.Format) bool { return f.Name == spanfile.CoNLL })
	fit, lost := spanfile.Formats[i].Fit(docs)
	if want := (spanfile.Loss{Dropped: 1, Widened: 1, Wordless: 2}); lost != want {
		t.Errorf("%+v, want %+v", lost, want)
	}
	var b strings.Builder
	if err := spanfile.Formats[i].Write(&b, fit); err != nil {
		t.Fatal(err)
	}
	again, err := tagged(b.String())
	var texts []string
	for _, d := range again {
		texts = append(texts, fmt.Sprint(d.Text, len(d.Spans)))
	}
	if want := []string{"see -X- here1", "an -X- alone0", "foobar baz1"}; !slices.Equal(texts, want) || err != nil {
		t.Errorf("%q, %v, want %q", texts, err, want)
	}
}

func TestAlign(t *testing.T) {
	gold := []spanfile.Doc{{Line: 1, Tokens: []string{"a", "b"}}, {Line: 4, Tokens: []string{"c"}}}
	for want, predicted := range map[string][]spanfile.Doc{
		"p has 1 sentences, g has 2":                             {{Line: 1, Tokens: []string{"a", "b"}}},
		"p:1: the sentence has 1 tokens, that of g:1 has 2":      {{Line: 1, Tokens: []string{"a"}}},
		`p:2: token "x", but "b" in g:2: gold and prediction mu`: {{Line: 1, Tokens: []string{"a", "x"}}, {Line: 4, Tokens: []string{"c"}}},
	} {
		if err := spanfile.Align(gold, predicted, "g", "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := spanfile.Align(gold, gold, "g", "p"); err != nil {
		t.Error(err)
	}
}

// FuzzReadCoNLL: no file makes the reader panic, and what it reads has spans
// inside the sentence.
func FuzzReadCoNLL(f *testing.F) {
	f.Add("a\tB-x\nb\tI-x\n\nc\tO\n")
	f.Add("-DOCSTART- -X- O O\n\na B B-x B-x\n")
	f.Fuzz(func(t *testing.T, text string) {
		sentences, err := tagged(text)
		if err != nil {
			return
		}
		for _, s := range sentences {
			spans, err := span.Chunks(s.Tags)
			if err != nil {
				t.Fatal(err)
			}
			end := 0
			for _, c := range spans {
				if c.Start < end || c.End <= c.Start || c.End > len(s.Tokens) {
					t.Fatalf("%+v in %+v", c, s)
				}
				end = c.End
			}
		}
	})
}

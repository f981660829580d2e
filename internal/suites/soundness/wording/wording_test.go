package wording

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var negation = Negation{Words: []string{"not", "no", "never", "without", "lacks", "isn't", "cannot", "far from"}, Scope: 4,
	Contrasts: []string{"but", "however"}, Prefixes: []string{"un"}, Skip: []string{"not only"}}

// TestCount: whole words, negation with its scope, and double negation. Neither
// "insufficient" nor "not sound" is strength.
func TestCount(t *testing.T) {
	x := NewIndicators(negation, []string{"sufficient", "sound", "clear", "acknowledges weaknesses", "strong"}, []string{"flaw", "flaws", "fatal flaws", "gap", "weaknesses", "insufficient"})
	for text, want := range map[string][2]int{
		"":                                       {0, 0},
		"sufficient":                             {1, 0},
		"insufficient":                           {0, 1},
		"sufficiently":                           {0, 0},
		"not sound":                              {0, 1},
		"no fatal flaws":                         {1, 0},
		"fatal flaws and a gap":                  {0, 2},
		"without any flaws":                      {1, 0},
		"not without flaws":                      {0, 1},
		"It isn’t clear":                         {0, 1},
		"far from clear":                         {0, 1},
		"not clear. Strong.":                     {1, 1},
		"not here, strong there":                 {0, 0}, // perhaps of the same list
		"not in this one of the parts clear":     {0, 0}, // out of reach: perhaps negated
		"no flaws in any of the parts, clear":    {1, 0}, // the next phrase is perhaps negated
		"no flaws in any of the parts but clear": {1, 0}, // what the sentence comes to
		"not clear but strong":                   {1, 0},
		"not only clear":                         {1, 0},
		"acknowledges weaknesses":                {1, 0},
		"weaknesses":                             {0, 1},
		"lacks clear":                            {0, 1},
		"CLEAR**strong**":                        {2, 0},
		"soundly unsound":                        {0, 1},
		"in-sufficient":                          {0, 1},
	} {
		if s, w, _ := x.Count(text); s != want[0] || w != want[1] {
			t.Errorf("%q: %d and %d, want %v", text, s, w, want)
		}
	}
}

var format = Format{Markers: []string{"classification", "label"}, Final: []string{"final classification"}, Concluding: []string{"therefore", "overall"},
	Fillers: []string{"the", "is", "it", "a", "fragment", "final"}}

// TestText: the label of a text, and when there is none or no final one.
func TestText(t *testing.T) {
	l := NewLabels(negation, format, []string{"sound"}, []string{"not sound", "unsound", "not_sound"})
	for text, want := range map[string]int{
		"sound": 0, "Not_Sound": 1, "**not sound**": 1, `"unsound"`: 1, "not unsound": 0, "The fragment is sound.": 0,
		"sounds good": None, "resound": None, "unknown": None, "insufficient": None, "": None,
		"Classification: sound\nIt is not sound in one respect, and unsound in another.": 0,
		"Classification: not sound, because its evidence might have been sound.":         1,
		"Is it sound? It is not.":                   None,
		"It looks sound. Therefore, it is unsound.": 1,
		"One part is sound, another unsound.":       None,
		"sound\nunsound":                            None,
		"sound\nFinal classification: unsound":      1,
		"Final classification: unsound\nSound":      1,
		"Final classification: unsound\nsound":      None,
		"no part of it sound":                       None, // other words stand in its clause
		"it cannot be called sound":                 None,
		"it is not a sound fragment":                1,
		"Label: sound\nLabel: sound":                0,
		"NotSound":                                  1,
		"Classification: NotSound":                  1,
		"un-sound":                                  1,
		"un - sound":                                0, // two words
		"UN – sound":                                0,
		"It is not that the fragment is sound":      None,
	} {
		if got := l.Text(text); got.Label != want {
			t.Errorf("%q: %+v, want %d", text, got, want)
		}
	}
	if r := l.Text("sound and unsound"); !r.Conflict {
		t.Errorf("%+v", r)
	}
	if r := l.Text("nothing"); r.Conflict {
		t.Errorf("%+v", r)
	}
}

// TestNegatedIsTheOther: whatever phrase is negated once stands for the other label.
func TestNegatedIsTheOther(t *testing.T) {
	f := format
	f.Fillers = []string{"quite"}
	l := NewLabels(negation, f, []string{"sound", "well founded"}, []string{"unsound", "ill founded"})
	rapid.Check(t, func(t *rapid.T) {
		phrase := rapid.SampledFrom([]string{"sound", "well founded", "unsound", "ill founded", "SOUND", "*Unsound*"}).Draw(t, "phrase")
		not := rapid.SampledFrom(negation.Words).Draw(t, "not")
		filler := strings.Repeat("quite ", rapid.IntRange(0, 3).Draw(t, "fillers"))
		plain, negated := l.Value(phrase).Label, l.Value(not+" "+filler+phrase).Label
		if plain == None || negated != 1-plain {
			t.Fatalf("%q is %d, negated by %q %d", phrase, plain, not, negated)
		}
	})
}

// TestPunctuationIsNoWord: marks around words and other apostrophes change no reading.
func TestPunctuationIsNoWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"not", "isn't", "sound", "clear", "ü"}), 1, 6).Draw(t, "words")
		mark := rapid.SampledFrom([]string{"", "*", "**", "_", `"`, "“"}).Draw(t, "mark")
		text := mark + strings.ReplaceAll(strings.ToUpper(strings.Join(words, mark+" "+mark)), "'", "’") + mark
		got := Words(text)
		if strings.Join(got, " ") != strings.Join(words, " ") {
			t.Fatalf("%q has the words %q", text, got)
		}
	})
}

// FuzzRead: no text makes the readers fail, and what they return lies in it.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "not sound", "Classification: \nsound", "İstanbul’s “not” sound?\n\n\n", "\xff\xfe sound", "no no no unsound.", "final classification final classification", strings.Repeat("not ", 50) + "sound"} {
		f.Add(s)
	}
	l := NewLabels(negation, format, []string{"sound"}, []string{"not sound", "unsound"})
	x := NewIndicators(negation, []string{"clear"}, []string{"flaw"})
	m := NewMatcher([]string{"no flaw"})
	f.Fuzz(func(t *testing.T, s string) {
		r := l.Text(s)
		if r.Label < None || r.Label > 1 || r.From < 0 || r.To > len(s) || r.From > r.To || r.Conflict && r.Label != None {
			t.Errorf("%q: %+v", s, r)
		}
		if v := l.Value(s); v.Label < None || v.Label > 1 {
			t.Errorf("%q: %+v", s, v)
		}
		if a, b, c := x.Count(s); a < 0 || b < 0 || c < 0 || a+b+c > len(Words(s)) {
			t.Errorf("%q: %d and %d", s, a, b)
		}
		l.Declines(s, m, 10)
		if utf8.ValidString(s) && len(Words(s)) > len(s) {
			t.Error("more words than bytes")
		}
	})
}

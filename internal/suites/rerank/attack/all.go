package attack

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// All lists the attacks in the order of the tables.
func All() []Attack {
	t := templates()
	return []Attack{
		typo("typo_10", 0.10),
		typo("typo_20", 0.20),
		inject("inject_override", t.InjectOverride),
		inject("inject_fake_sys", t.InjectFakeSys),
		inject("inject_hidden", t.InjectHidden),
		fake("fake_positive", 5, false, t.FakePositive),
		fake("fake_negative", 1, true, t.FakeNegative), // of the right candidates
		sarcastic("sarcastic_wifi", t.Sarcastic, "wifi"),
		sarcastic("sarcastic_noise", t.Sarcastic, "noise"),
		sarcastic("sarcastic_outdoor", t.Sarcastic, "outdoor"),
		sarcastic("sarcastic_all", t.Sarcastic, "wifi", "noise", "outdoor"),
		heterogeneity(t.Heterogeneity),
	}
}

// Parse parses a list of attacks: "none" or "" is none, "all" is every one, else
// comma-separated names. The result is in the order of [All], without
// duplicates.
func Parse(s string) ([]Attack, error) {
	all := All()
	switch s {
	case "", "none":
		return nil, nil
	case "all":
		return all, nil
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	asked := strings.Split(s, ",")
	for i := range asked {
		if asked[i] = strings.TrimSpace(asked[i]); !slices.Contains(names, asked[i]) {
			return nil, fmt.Errorf("unknown attack %q: want none, all, or some of %s", asked[i], strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(a Attack) bool { return !slices.Contains(asked, a.Name) }), nil
}

// typo swaps two neighbouring letters, with probability p, in each word of
// more than three letters.
func typo(name string, p float64) Attack {
	return Attack{Name: name, finds: hasReviews, apply: func(w *work) {
		for _, at := range w.some(w.count(len(w.reviews))) {
			w.edit(at, w.misspell(w.reviews[at].Text, min(1, p*w.options.strength())))
		}
	}}
}

func hasReviews(_ *catalog.Item, reviews []catalog.Review) bool { return len(reviews) > 0 }

func (w *work) misspell(text string, p float64) string {
	letters := []rune(text)
	for begin := 0; begin < len(letters); {
		end := begin
		for end < len(letters) && unicode.IsLetter(letters[end]) {
			end++
		}
		if end-begin > 3 && w.draws.Float64() < p {
			w.swap(letters[begin:end])
		}
		begin = max(end, begin+1)
	}
	return string(letters)
}

// swap exchanges two neighbours that differ, if the word has such.
func (w *work) swap(word []rune) {
	var places []int
	for i := 1; i < len(word); i++ {
		if word[i-1] != word[i] {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return
	}
	i := places[w.draws.IntN(len(places))]
	word[i-1], word[i] = word[i], word[i-1]
}

// inject adds instructions to the model to existing reviews, or to a new one if
// there are none.
func inject(name string, variants []string) Attack {
	return Attack{Name: name, Injects: true, apply: func(w *work) {
		if len(w.reviews) == 0 {
			w.add(w.write(variants, ""), 5)
			return
		}
		for _, at := range w.some(w.count(1)) {
			w.edit(at, w.reviews[at].Text+"\n"+w.write(variants, ""))
		}
	}}
}

// fake adds reviews with praise or blame but no facts.
func fake(name string, stars float64, blames bool, variants []string) Attack {
	return Attack{Name: name, Blames: blames, apply: func(w *work) {
		for range w.count(1) {
			w.add(w.write(variants, ""), stars)
		}
	}}
}

// sarcastic adds reviews that state facts of the item in an inverted tone. It
// does not change an item without these attributes.
func sarcastic(name string, all map[string]twisted, facts ...string) Attack {
	finds := func(item *catalog.Item, _ []catalog.Review) bool {
		return slices.ContainsFunc(facts, func(fact string) bool {
			_, _, ok := all[fact].of(item)
			return ok
		})
	}
	return Attack{Name: name, finds: finds, apply: func(w *work) {
		for _, fact := range facts {
			to, value, ok := all[fact].of(w.item)
			if !ok {
				continue
			}
			for range w.count(1) {
				w.add(w.write(to.Variants, value), to.Stars)
			}
		}
	}}
}

// of returns the texts for an item's value: the first path with a value decides.
func (t twisted) of(item *catalog.Item) (to twistedTo, value string, ok bool) {
	for _, path := range t.Paths {
		v := item.At(path)
		if v == nil {
			continue
		}
		value = catalog.Text(v)
		for _, c := range t.Cases {
			if slices.ContainsFunc(c.Values, func(s string) bool { return strings.EqualFold(s, value) }) {
				return c, value, true
			}
		}
		return twistedTo{}, "", false
	}
	return twistedTo{}, "", false
}

// heterogeneity makes texts of very unequal length: each review gets from 1 to
// 15 × strength filler sentences. Squaring the drawn number makes most texts
// short and a few very long.
func heterogeneity(fillers []string) Attack {
	return Attack{Name: "heterogeneity", finds: hasReviews, apply: func(w *work) {
		most := 15 * w.options.strength()
		for _, at := range w.some(w.count(len(w.reviews))) {
			u := w.draws.Float64()
			n := 1 + int(u*u*most)
			text := []string{w.reviews[at].Text}
			for range n {
				text = append(text, fillers[w.draws.IntN(len(fillers))])
			}
			w.edit(at, strings.Join(text, " "))
		}
	}}
}

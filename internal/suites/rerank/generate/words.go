package generate

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

//go:embed words.yaml
var wordsFile []byte

// words is the content of words.yaml, which documents it.
type words struct {
	Attributes []struct {
		Name    string `yaml:"name"`
		Missing int    `yaml:"missing"`
		Choices []struct {
			Value  any `yaml:"value"`
			Weight int `yaml:"weight"`
		} `yaml:"choices"`
	} `yaml:"attributes"`
	Flags []struct {
		Name    string         `yaml:"name"`
		Missing int            `yaml:"missing"`
		Flags   map[string]int `yaml:"flags"`
	} `yaml:"flags"`
	Cuisines   []string      `yaml:"cuisines"`
	Kinds      []string      `yaml:"kinds"`
	Cities     []string      `yaml:"cities"`
	Names      twoParts      `yaml:"names"`
	People     twoParts      `yaml:"people"`
	Conditions []requirement `yaml:"conditions"`
	Themes     []requirement `yaml:"themes"`
	Credible   []requirement `yaml:"credible"`
	Reviewers  []requirement `yaml:"reviewers"`
	Dishes     struct {
		Styles    []string `yaml:"styles"`
		Things    []string `yaml:"things"`
		Sentences []string `yaml:"sentences"`
	} `yaml:"dishes"`
	Openers   []string            `yaml:"openers"`
	Middles   []string            `yaml:"middles"`
	Closers   map[string][]string `yaml:"closers"`
	Scenarios []string            `yaml:"scenarios"`
	Frames    []string            `yaml:"frames"`
	Further   []string            `yaml:"further"`

	Friends          []string `yaml:"friends"`
	FriendsOfFriends []string `yaml:"friends_of_friends"`
}

type twoParts struct {
	First  []string `yaml:"first"`
	Second []string `yaml:"second"`
}

// A requirement is evidence with the words for it.
type requirement struct {
	Aspect    string   `yaml:"aspect"`
	Path      string   `yaml:"path"`
	Test      string   `yaml:"test"`
	Value     any      `yaml:"value"`
	Pattern   string   `yaml:"pattern"`
	MinStars  float64  `yaml:"min_stars"`
	Aggregate string   `yaml:"agg"`
	Count     int      `yaml:"count"`
	Negate    bool     `yaml:"negate"`
	Says      []string `yaml:"says"`      // phrases that follow "a place that"
	Named     []string `yaml:"named"`     // of a theme: says, before where it is named
	Facts     []string `yaml:"facts"`     // sentences of reviews if it holds
	Sentences []string `yaml:"sentences"` // of a theme: sentences that match its pattern
}

// value is a value of words.yaml as JSON has it.
func value(x any) any {
	switch x := x.(type) {
	case uint64:
		return float64(x)
	case []any:
		for i := range x {
			x[i] = value(x[i])
		}
	}
	return x
}

func (r *requirement) evidence(kind string) request.Evidence {
	return request.Evidence{Kind: kind, Path: r.Path, Test: r.Test, Value: value(r.Value),
		Pattern: r.Pattern, MinStars: r.MinStars, Aggregate: r.Aggregate, Count: r.Count}
}

// allWords parses the embedded file once.
var allWords = sync.OnceValue(func() *words {
	w := new(words)
	if err := yaml.UnmarshalWithOptions(wordsFile, w, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("generate: words.yaml: %v", err))
	}
	return w
})

// dish returns the dish at an index. Neighbours have different styles and things if
// there are enough.
func (w *words) dish(i int) string {
	d := &w.Dishes
	row, column := i/len(d.Styles), i%len(d.Styles)
	return d.Styles[column] + " " + d.Things[(column+row)%len(d.Things)]
}

// person returns the unique name of the user at an index.
func (w *words) person(i int) string {
	first, last := w.People.First, w.People.Second
	n := len(first) * len(last)
	row, column := i/len(first), i%len(first)
	f, l := first[column], last[(row+7*column)%len(last)]
	switch round := i / n; {
	case round == 0:
		return f + " " + l
	case round <= 26:
		return fmt.Sprintf("%s %c. %s", f, 'A'+round-1, l)
	default:
		return fmt.Sprintf("%s %s %d", f, l, round)
	}
}

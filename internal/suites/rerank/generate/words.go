package generate

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed words.yaml
var wordsFile []byte

// words is the content of words.yaml, which documents it.
type words struct {
	Attributes []attribute `yaml:"attributes"`
	Flags      []flags     `yaml:"flags"`
	Cuisines   []string    `yaml:"cuisines"`
	Kinds      []string    `yaml:"kinds"`
	Cities     []string    `yaml:"cities"`
	Names      struct {
		First  []string `yaml:"first"`
		Second []string `yaml:"second"`
	} `yaml:"names"`
	People struct {
		First string `yaml:"first"`
		Last  string `yaml:"last"`
	} `yaml:"people"`
	Conditions []attributeCondition `yaml:"conditions"`
	Themes     []theme              `yaml:"themes"`
	Dishes     dishes               `yaml:"dishes"`
	Openers    []string             `yaml:"openers"`
	Middles    []string             `yaml:"middles"`
	Closers    struct {
		Good []string `yaml:"good"`
		Fair []string `yaml:"fair"`
		Poor []string `yaml:"poor"`
	} `yaml:"closers"`
	Scenarios []string `yaml:"scenarios"`
	Frames    []string `yaml:"frames"`
	Further   []string `yaml:"further"`

	Friends          []string            `yaml:"friends"`
	FriendsOfFriends []string            `yaml:"friends_of_friends"`
	Credible         []credibleCondition `yaml:"credible"`
	Reviewers        []reviewerCondition `yaml:"reviewers"`
}

type attribute struct {
	Name    string `yaml:"name"`
	Missing int    `yaml:"missing"`
	Choices []struct {
		Value  any `yaml:"value"`
		Weight int `yaml:"weight"`
	} `yaml:"choices"`
}

type flags struct {
	Name    string         `yaml:"name"`
	Missing int            `yaml:"missing"`
	Flags   map[string]int `yaml:"flags"`
}

type attributeCondition struct {
	Aspect string   `yaml:"aspect"`
	Path   string   `yaml:"path"`
	Test   string   `yaml:"test"`
	Value  any      `yaml:"value"`
	Negate bool     `yaml:"negate"`
	Says   []string `yaml:"says"`
	Facts  []string `yaml:"facts"`
}

type theme struct {
	Aspect    string   `yaml:"aspect"`
	Pattern   string   `yaml:"pattern"`
	Named     []string `yaml:"named"`
	Sentences []string `yaml:"sentences"`
}

type dishes struct {
	Styles    []string `yaml:"styles"`
	Things    []string `yaml:"things"`
	Sentences []string `yaml:"sentences"`
}

type credibleCondition struct {
	Aspect string   `yaml:"aspect"`
	Field  string   `yaml:"field"`
	Says   []string `yaml:"says"`
}

type reviewerCondition struct {
	Aspect    string   `yaml:"aspect"`
	Path      string   `yaml:"path"`
	Test      string   `yaml:"test"`
	Value     float64  `yaml:"value"`
	MinStars  float64  `yaml:"min_stars"`
	Aggregate string   `yaml:"agg"`
	Count     int      `yaml:"count"`
	Says      []string `yaml:"says"`
}

// allWords parses the embedded file once.
var allWords = sync.OnceValue(func() *words {
	w := new(words)
	if err := yaml.UnmarshalWithOptions(wordsFile, w, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("generate: words.yaml: %v", err))
	}
	return w
})

// name returns the dish at an index. Neighbours have different styles and things
// if there are enough.
func (d *dishes) name(i int) string {
	row, column := i/len(d.Styles), i%len(d.Styles)
	return d.Styles[column] + " " + d.Things[(column+row)%len(d.Things)]
}

func (d *dishes) count() int { return len(d.Styles) * len(d.Things) }

// person returns the unique name of the user at an index.
func (w *words) person(i int) string {
	first, last := strings.Fields(w.People.First), strings.Fields(w.People.Last)
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

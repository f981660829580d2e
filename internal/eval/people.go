package eval

import (
	"encoding/json"
	"errors"
	"iter"
)

// An Annotated is a bench whose items have units that people can judge before there
// are answers, such as the fields of a document.
type Annotated interface {
	Units(item string) ([]string, error)
	// Leaves are the values of each record of a unit that is a list, none if its records are
	// values; ok is false for other units.
	Leaves(item, unit string) (leaves []string, ok bool)
	// About says what a unit is, as arms are told, and Fits why a value is none of its type.
	About(item, unit string) string
	Fits(item, unit, value string) error
	// Gold makes a record of gold, in the suite's format, of what people say of the
	// units of an item.
	Gold(item string, of []UnitGold) ([]byte, error)
	// Same reports whether two people say the same value of a unit, compared as the
	// suite compares answers with gold. Quotes may differ.
	Same(item string, a, b UnitGold) (bool, error)
}

// ErrGone is wrapped by the error of showing an answer without anything to judge any more.
var ErrGone = errors.New("it cannot be judged any more")

// UnitGold is what people say of a unit.
type UnitGold struct {
	Unit      string
	Missing   bool // it is not in the text
	Ambiguous bool
	Values    []string // several if it is ambiguous
	Quote     string
	Page      int
	// Records are those of a list, in no order: what is said of their leaves, whose names are
	// units, "" of a list of values.
	Records [][]UnitGold
}

// Leaf is the name of a leaf of a list, such as items[].price of items[].
func Leaf(list, leaf string) string {
	if leaf == "" {
		return list
	}
	return list + "." + leaf
}

// A Rating is what a judge says of a unit of a trial.
type Rating struct {
	Trial Trial
	Unit  string // as in the verdicts of people; "" for the whole trial
	Type  string // kind of unit, for errors by type; "" for none
	Yes   bool
}

// A Queuer is a bench with queues of answers for people: it picks the answers of a queue
// by what they say or how they were scored, and builds what a person sees of them.
type Queuer interface {
	// Queue lists the answers of a queue in plan order. The error for an unknown name
	// lists the names.
	Queue(name string, cases iter.Seq2[Case, error]) ([]Queued, error)
	// ShowQueued returns what a person sees of an answer: never its arm, nor what the
	// person's judgement is compared with.
	ShowQueued(name string, c Case, replicate int) ([]Passage, error)
}

// A Queued is an answer in a queue.
type Queued struct {
	Trial   Trial
	Stratum string // group for draws, such as the automatic result; never shown
}

// A Passage is a named text.
type Passage struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A GoldKeeper is a bench whose gold is people's answers about whole items, of a task of
// kind assessment: several questions of each item. Tasks of kind label have verdicts alone.
type GoldKeeper interface {
	// GoldFile makes the file of the gold that people settled, with its name. day is
	// that of the lock, as YYYY-MM-DD.
	GoldFile(day string, settled []ItemGold) (name string, data []byte, err error)
	// GoldPath is the file from which the study reads gold, or "".
	GoldPath() string
}

// ItemGold is what people settled about an item.
type ItemGold struct {
	Item    string
	Answer  map[string]json.RawMessage // by question
	Session int
	At      string // RFC 3339
}

// An Associator tests whether two marks of the same things occur together. [Results] of
// an analysis are one.
type Associator interface {
	// Associate tests 2 × 2 tables: [0][0] counts the things with both marks.
	Associate(tables [][2][2]int) []Association
}

// An Association is how two marks occur together.
type Association struct {
	Lift     Number // share with both, over the product of the shares with each
	P        Number // of Fisher's exact test, two-sided
	Adjusted Number // P with Holm's correction for the number of tables
	Paired   Number // p of the exact McNemar test: whether one mark is more frequent than the other
}

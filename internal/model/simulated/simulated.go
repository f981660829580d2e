// Package simulated is a fake model: it returns the right answer with errors at
// configured rates. It is for demonstrations without a key, tests, and power
// studies, in which the true difference between arms must be known.
//
// Its answers say nothing about real models. Everything that shows such answers, or
// a number computed from them, must label them simulated; the suites mark the arms
// (eval.Arm.Simulated), and answers have the model version "simulated-1".
//
// The suite puts a [Sheet] into the request's payload if and only if the model's
// provider is simulated. A sheet splits an answer into parts and holds, for each,
// the right text and the text of each kind of error. The draw for part i depends
// only on the seed, the model's id, the request's key and i. So answers do not
// change with order, concurrency or interruptions, equal requests get equal
// answers, and replicates are independent.
//
// The package must not know any suite or the meaning of the parts.
package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/study"
)

// Version is what answers give as the version of the model. It changes when
// the same request would be answered otherwise.
const Version = eval.SimulatedVersion + "1"

// The kinds of error a part can have, in the order in which they are tried.
const (
	Miss      = "miss"      // a present value is answered as missing
	Wrong     = "wrong"     // something there is read wrong
	Invent    = "invent"    // a value is answered for a missing one
	Fabricate = "fabricate" // a quote is invented
)

// A Skill holds the error rates of a simulated model. Rates are probabilities: the
// first four per part for which the error is possible, the last per answer.
//
// Errors of one part are mutually exclusive, so each occurs at its configured rate
// if the rates of the possible ones sum to at most 1. [Check] rejects larger sums.
type Skill = study.Skill

// rates lists the errors of a part in the order in which they are tried.
func rates(s Skill) []rate {
	return []rate{{Miss, s.Miss}, {Wrong, s.Wrong}, {Invent, s.Invent}, {Fabricate, s.Fabricate}}
}

type rate struct {
	kind string
	p    float64
}

// Check rejects rates that are not probabilities, and rates of mutually exclusive
// errors (miss, wrong, fabricate) with a sum above 1.
func Check(s Skill) error {
	for _, r := range append(rates(s), rate{"malformed", s.Malformed}) {
		if !(r.p >= 0 && r.p <= 1) { // NaN is neither
			return fmt.Errorf("skill: %s is %v: want a probability from 0 to 1", r.kind, r.p)
		}
	}
	const rounding = 1e-9 // 0.7 + 0.2 + 0.1 is meant to be 1
	if sum := s.Miss + s.Wrong + s.Fabricate; sum > 1+rounding {
		return fmt.Errorf("skill: miss, wrong and fabricate are mutually exclusive and sum to %.6g: want at most 1", sum)
	}
	return nil
}

// A Sheet is the right answer in parts, with the errors that can be made.
type Sheet struct {
	Prefix    string `json:"prefix,omitempty"`
	Separator string `json:"separator,omitempty"` // between parts
	Suffix    string `json:"suffix,omitempty"`
	Parts     []Part `json:"parts,omitempty"`
	// Malformed is an answer that cannot be read. Without one, a malformed
	// answer is one that is cut off.
	Malformed string `json:"malformed,omitempty"`
	// Arm is the prompt that answers, if the model has a skill of its own with it.
	Arm string `json:"arm,omitempty"`
}

// A Part is one piece of an answer, such as a field.
type Part struct {
	Right string `json:"right"`
	// Alternatives are the texts of errors by kind. A kind that cannot occur in
	// the part is missing.
	Alternatives map[string]string `json:"alternatives,omitempty"`
}

// Encode encodes a sheet as the payload of a request. It panics if a part has an
// alternative of an unknown kind.
func Encode(s Sheet) json.RawMessage {
	for i, p := range s.Parts {
		for kind := range p.Alternatives {
			if !slices.Contains([]string{Miss, Wrong, Invent, Fabricate}, kind) {
				panic(fmt.Sprintf("simulated: part %d has an alternative of unknown kind %q", i, kind))
			}
		}
	}
	b, err := eval.EncodeJSON(s)
	if err != nil {
		panic("simulated: " + err.Error()) // strings always encode
	}
	return b
}

// A Client answers as one simulated model. It implements [model.Client].
type Client struct {
	skill Skill
	seed  int64
}

// New returns a model of that skill. Another seed is another run of the same
// model.
func New(skill Skill, seed int64) *Client { return &Client{skill, seed} }

// Complete fills in the request's sheet. Tokens are estimated at four bytes
// each.
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	if err := ctx.Err(); err != nil {
		return eval.Response{}, model.FromTransport(ctx, err)
	}
	sheet, err := decode(r.Payload)
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrBadRequest, Err: err,
			Message: fmt.Sprintf("model %q is simulated, but the request about item %q has no answer sheet: %v", r.Model, r.Item, err),
			Remedy:  "use a real model for this part of the study: the suite does not simulate it"}
	}
	drawn := *r // by another skill, the same draws
	drawn.Program, drawn.SealedKey = "", ""
	key := drawn.Key()
	one := Client{c.skill.Of(sheet.Arm), c.seed}
	text := one.write(&sheet, newStream(c.seed, r.Model, key))
	return eval.Response{
		Text: text, Stop: eval.StopEnd, StopReason: "end", ModelVersion: Version, RequestID: "simulated-" + key,
		Usage: eval.Usage{Input: tokens(inputBytes(r)), Output: tokens(len(text))},
	}, nil
}

func decode(payload json.RawMessage) (Sheet, error) {
	var s Sheet
	if len(payload) == 0 {
		return s, errors.New("no payload")
	}
	if err := dataset.DecodeStrict(payload, &s); err != nil { // the payload of a pipeline is not a sheet
		return s, fmt.Errorf("reading the payload: %w", err)
	}
	return s, nil
}

// write joins the parts, each right or wrong as drawn.
func (c *Client) write(s *Sheet, draws stream) string {
	malformed := draws.at("malformed", 0) < c.skill.Malformed
	if malformed && s.Malformed != "" {
		return s.Malformed
	}
	var b strings.Builder
	b.WriteString(s.Prefix)
	for i := range s.Parts {
		if i > 0 {
			b.WriteString(s.Separator)
		}
		b.WriteString(c.choose(&s.Parts[i], draws.at("part", i)))
	}
	b.WriteString(s.Suffix)
	if malformed {
		return cut(b.String(), draws.at("cut", 0))
	}
	return b.String()
}

// choose gives the text of a part for a number drawn from [0, 1): the errors
// that are possible take up intervals one after the other, from 0 on.
func (c *Client) choose(p *Part, u float64) string {
	for _, r := range rates(c.skill) {
		text, possible := p.Alternatives[r.kind]
		if !possible {
			continue
		}
		if u < r.p {
			return text
		}
		u -= r.p
	}
	return p.Right
}

// cut drops the end of a text, at least its last character, at a place given
// as a number from [0, 1).
func cut(text string, u float64) string {
	end := max(0, min(int(u*float64(len(text))), len(text)-1)) // the product may be rounded up
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func inputBytes(r *eval.Request) int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return n
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// A stream is an endless table of numbers drawn uniformly from [0, 1).
type stream [sha256.Size]byte

func newStream(seed int64, modelID, key string) stream {
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(seed))
	for _, s := range []string{Version, modelID, key} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(b)
}

// at is the number of that purpose and index: the first 53 bits of a hash.
func (s stream) at(purpose string, index int) float64 {
	b := binary.BigEndian.AppendUint64(s[:], uint64(index))
	h := sha256.Sum256(append(b, purpose...))
	return float64(binary.BigEndian.Uint64(h[:8])>>11) / (1 << 53)
}

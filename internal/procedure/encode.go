package procedure

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/stats"
)

// encode encodes a result as JSON with all digits. An undefined number (NaN) is
// null, an infinity is "Infinity" or "-Infinity", and an interval is [low, high],
// or null if both are undefined. Keys that depend on the data may be duplicate.
func encode(result any) (jsontext.Value, error) {
	return json.Marshal(result, json.Deterministic(true), json.FormatNilSliceAsNull(true), jsontext.AllowDuplicateNames(true),
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeNumber), json.MarshalToFunc(writeInterval))))
}

func writeNumber(e *jsontext.Encoder, x float64) error {
	switch {
	case math.IsNaN(x):
		return e.WriteToken(jsontext.Null)
	case math.IsInf(x, 1):
		return e.WriteToken(jsontext.String("Infinity"))
	case math.IsInf(x, -1):
		return e.WriteToken(jsontext.String("-Infinity"))
	}
	return e.WriteToken(jsontext.Float(x))
}

func writeInterval(e *jsontext.Encoder, iv stats.Interval) error {
	if math.IsNaN(iv.Low) && math.IsNaN(iv.High) {
		return e.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(e, [2]float64{iv.Low, iv.High})
}

// explained is a result of stats, followed by the reason if it is undefined and by
// its warnings.
type explained[T any] struct {
	Result    T        `json:",inline"`
	Undefined bool     `json:"undefined,omitzero"`
	Reason    string   `json:"undefined_reason,omitzero"`
	Warnings  []string `json:"warnings,omitempty"`
}

func explain[T any](result T, reason string, warnings ...string) explained[T] {
	return explained[T]{result, reason != "", reason, warnings}
}

// leveled is a result whose intervals have a level: the number in the key of an
// interval is that level, in percent, and conf says it again.
type leveled struct {
	result any
	conf   float64
}

// at is a result at a confidence level. Its types name keys for 95 %.
func at(conf float64, result any) any { return leveled{result, conf} }

var levelKey = regexp.MustCompile(`(^|_)ci95($|_)`)

// MarshalJSONTo names the intervals by their level.
func (l leveled) MarshalJSONTo(e *jsontext.Encoder) error {
	raw, err := encode(l.result)
	if err != nil {
		return err
	}
	o, err := members(raw)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(o, func(m Entry) bool { return m.Key == "conf" }) {
		o = append(o, Entry{"conf", l.conf})
	}
	if l.conf == 0.95 {
		return o.MarshalJSONTo(e)
	}
	renamed, err := atLevel(o, "${1}ci"+strconv.FormatFloat(100*l.conf, 'g', 10, 64)+"$2")
	if err != nil {
		return err
	}
	return renamed.MarshalJSONTo(e)
}

// atLevel renames intervals, also of the objects inside. A name that the data
// gave, such as that of a group, has a number or an object as its value.
func atLevel(o Ordered, name string) (Ordered, error) {
	for i, m := range o {
		raw, ok := m.Value.(jsontext.Value)
		if !ok {
			continue
		}
		var err error
		switch raw.Kind() {
		case '[', 'n':
			o[i].Key = levelKey.ReplaceAllString(m.Key, name)
			var list []jsontext.Value
			if raw.Kind() == '[' && bytes.Contains(raw, []byte("ci95")) {
				if err = json.Unmarshal(raw, &list, jsontext.AllowDuplicateNames(true)); err != nil {
					return nil, err
				}
				for k := range list {
					if list[k], err = objectAtLevel(list[k], name); err != nil {
						return nil, err
					}
				}
				o[i].Value = list
			}
		case '{':
			o[i].Value, err = objectAtLevel(raw, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func objectAtLevel(raw jsontext.Value, name string) (jsontext.Value, error) {
	if raw.Kind() != '{' {
		return raw, nil
	}
	o, err := members(raw)
	if err != nil {
		return nil, err
	}
	if o, err = atLevel(o, name); err != nil {
		return nil, err
	}
	return encode(o)
}

// extended is a result with members added, each list after the member that it
// is filed under.
type extended struct {
	result any
	after  map[string]Ordered
}

// MarshalJSONTo copies the result's members and writes the added ones between.
func (x extended) MarshalJSONTo(e *jsontext.Encoder) error {
	raw, err := encode(x.result)
	if err != nil {
		return err
	}
	o, err := members(raw)
	if err != nil {
		return err
	}
	var all Ordered
	for _, m := range o {
		all = append(append(all, m), x.after[m.Key]...)
	}
	return all.MarshalJSONTo(e)
}

// An Ordered is an object whose keys depend on the data.
type Ordered []Entry

// An Entry is one key of an Ordered and its value.
type Entry struct {
	Key   string
	Value any
}

// MarshalJSONTo writes the object in its order.
func (o Ordered) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := e.WriteToken(jsontext.String(m.Key)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, m.Value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

// members lists an object's members in their order, their values as JSON.
func members(object jsontext.Value) (Ordered, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var o Ordered
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		o = append(o, Entry{key, value.Clone()})
	}
	return o, nil
}

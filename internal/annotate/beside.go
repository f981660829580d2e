package annotate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A row is a part of what is judged: one text, or those of A and B side by side.
type row struct {
	Name  string
	Raw   bool // answers as written, below those that were read
	Texts []column
}

// A column is a text of a row.
type column struct {
	Name  string
	Lines []line
}

// A line of a text. Differs says that the text beside has no such line.
type line struct {
	Text    string
	Differs bool
}

// rows arranges the parts that are shown: the answers of a pair, and two judgements, are side
// by side.
func (s Shown) rows() (list []row) {
	for i := 0; i < len(s.Parts); i++ {
		p := s.Parts[i]
		what, isA := strings.CutSuffix(p.Name, " A")
		switch {
		case !isA || i+1 == len(s.Parts) || s.Parts[i+1].Name != what+" B":
			list = append(list, row{Name: p.Name, Texts: []column{{Lines: lines(p.Text)}}})
			continue
		case what == "Answer":
			list = append(list, s.answers()...)
		default:
			list = append(list, beside(what, p.Text, s.Parts[i+1].Text))
		}
		i++
	}
	return list
}

// answers are the answers of a pair, a row for each part that one of them has.
func (s Shown) answers() (list []row) {
	var names []string
	for _, p := range slices.Concat(s.sides[0], s.sides[1]) {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return []row{beside("Answer", "", "")}
	}
	for _, name := range names {
		var texts [2]string
		for i, side := range s.sides {
			if at := slices.IndexFunc(side, func(p Part) bool { return p.Name == name }); at >= 0 {
				texts[i] = side[at].Text
			}
		}
		r := beside(name, texts[0], texts[1])
		r.Raw = name == rawPart && len(list) > 0
		list = append(list, r)
	}
	return list
}

// beside compares two texts by their lines. Of a single line, such as a label or prose, it is
// plain that it differs.
func beside(name, a, b string) row {
	r := row{Name: name, Texts: []column{{name + " A", lines(a)}, {name + " B", lines(b)}}}
	for i := range r.Texts {
		of, other := r.Texts[i].Lines, r.Texts[1-i].Lines
		for j := range of {
			same := func(l line) bool { return strings.TrimSpace(l.Text) == strings.TrimSpace(of[j].Text) }
			of[j].Differs = len(of)+len(other) > 2 && !slices.ContainsFunc(other, same)
		}
	}
	return r
}

// lines divides a text; JSON is indented first.
func lines(text string) (list []line) {
	var b bytes.Buffer
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if json.Indent(&b, []byte(s), "", "  ") == nil {
			text = b.String()
		}
	}
	if text == "" {
		text = "(empty)"
	}
	for l := range strings.SplitSeq(text, "\n") {
		list = append(list, line{Text: l})
	}
	return list
}

package method

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The notes of results. The set is closed, so that notes can be counted.
const (
	NoteFormat    = "an answer was read although its format is not the one asked for"
	NoteDuplicate = "duplicate places were dropped from a ranking"
	NoteForeign   = "places that do not exist were dropped from a ranking"
	NoteAppended  = "candidates missing from the ranking of a window were appended"
	NoteUnread    = "an answer of a step could not be read, all or in part, and was ignored there"
	NoteAgain     = "an answer could not be used and was asked for again"
)

// A Ranking is the ranking in an answer.
type Ranking struct {
	Places []int    // from 1, each at most once; best first
	Notes  []string // how it differs from what was asked for
}

func (r *Ranking) note(note string) {
	if !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// ReadRanking parses the ranking of n candidates from the end of an answer. Every
// method, and every pipeline, is read by it.
//
// A ranking is one of these, at the end of the answer:
//
//   - the line "Ranking: 3, 1, 7"; places may be separated by commas, semicolons,
//     "|", ">", arrows or blanks, and written as 3, #3, [3], (3) or candidate 3,
//     with a name in parentheses after them;
//   - a line "Ranking:" and a list below it, one place a line, with bullets or the
//     numbers 1, 2, 3 … in front;
//   - a JSON object with the key "ranking", whose value is an array.
//
// Duplicates and places above n are dropped. Other text is not searched for
// numbers: text after the ranking, a place 0 (do the places start at 0?), ranges,
// ties, fractions and names without a place are faults.
func ReadRanking(answer string, n int) (Ranking, error) {
	body := unfence(answer)
	if list, whole, ok := readObject(body); ok {
		r, err := readArray(list, n)
		if err == nil && !whole {
			r.note(NoteFormat)
		}
		return r, err
	}
	head, below, ok := finalBlock(body)
	var list []string
	var err error
	switch {
	case !ok:
		return Ranking{}, fault(InvalidNoRanking, `the answer does not end with "Ranking: …" but with %q`, ellipsis(head, 80))
	case head == "" && len(below) == 0:
		return Ranking{}, fault(InvalidNoRanking, "the ranking is empty")
	case head != "" && len(below) > 0:
		return Ranking{}, fault(InvalidNoRanking, "text follows the ranking: %q", ellipsis(below[0], 80))
	case head != "":
		list, err = readLine(head)
	case len(below) == 1 && !listLine.MatchString(below[0]):
		list, err = readLine(below[0])
	default:
		list, err = readLines(below)
	}
	if err != nil {
		return Ranking{}, err
	}
	r, err := choose(list, n)
	if err == nil && !asked.MatchString(head) {
		r.note(NoteFormat)
	}
	return r, err
}

var (
	// fences matches the lines around a code block.
	fences = regexp.MustCompile("(?m)^[ \t]*```[a-zA-Z]*[ \t]*\r?$")
	// header matches the line that begins a ranking, with Markdown emphasis; without
	// a colon only if nothing else is on the line.
	header = regexp.MustCompile("(?i)^[\\s*_`#>-]*(?:(?:the|my)\\s+)?(?:final\\s+)?ranking(?:\\s+is)?[*_`\\s]*(?:[:：][\\s*_`]*(.*?)[\\s*_`]*|[#\\s]*)$")
	// asked matches what the prompts ask for.
	asked = regexp.MustCompile(`^\d+(?:\s*,\s*\d+)*\.?$`)
	// listLine matches a line of a list: a bullet or a number, a place in one of its
	// forms, and a text, which needs parentheses after a bare place. Prompts show a
	// candidate as [3]; a (3) before a text may be the number of the line.
	listLine = regexp.MustCompile(`(?i)^(?:[-+*•]\s+|(\d+)[.)]\s+)?(?:(?:candidate\s*#?\s*|#\s*)(\d+)(\b.*)?|\[\s*#?(\d+)\s*\](.*)|\(\s*#?(\d+)\s*\)|(\d+)(?:\s*\([^()]*\pL[^()]*\))?[.,;]?)$`)
	// reference matches a place that cannot be part of a name.
	reference = regexp.MustCompile(`(?i)#\s*\d|\[\s*#?\d+\s*\]|\bcandidate\s*\d`)
)

// unfence removes the lines around code blocks.
func unfence(answer string) string { return strings.TrimSpace(fences.ReplaceAllString(answer, "")) }

// readObject parses the JSON object with a ranking at the end of an answer. Whole
// means that it is the whole answer.
func readObject(body string) (list []any, whole, ok bool) {
	if !strings.HasSuffix(body, "}") || !strings.Contains(body, "{") {
		return nil, false, false
	}
	last := strings.LastIndexByte(body, '\n') + 1
	for _, start := range []int{0, strings.LastIndex(body, "\n{") + 1, last + max(0, strings.IndexByte(body[last:], '{')), strings.LastIndexByte(body, '{')} {
		var object struct {
			Ranking []any `json:"ranking"`
		}
		if body[start] != '{' || unmarshal([]byte(body[start:]), &object) != nil || object.Ranking == nil {
			continue
		}
		return object.Ranking, start == 0, true
	}
	return nil, false, false
}

// unmarshal is json.Unmarshal that keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	if !json.Valid(data) {
		return errors.New("not one value of JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// readArray makes a ranking of the elements of a JSON array.
func readArray(array []any, n int) (Ranking, error) {
	var list []string
	plain := true
	for _, v := range array {
		place, number := element(v)
		list, plain = append(list, place), plain && number
	}
	r, err := choose(list, n)
	if err == nil && !plain {
		r.note(NoteFormat)
	}
	return r, err
}

// element returns a value of JSON as a place; number reports that it is a number. A
// value that is not a place stays as it is written.
func element(v any) (place string, number bool) {
	switch v := v.(type) {
	case json.Number:
		return wholeNumber(v.String()), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int: // of a simulated answer
		return strconv.Itoa(v), true
	case string:
		if list, err := readLine(v); err == nil && len(list) == 1 {
			return list[0], false
		}
		return v, false
	}
	return jsonText(v), false
}

// wholeNumber drops a fraction of zeros.
func wholeNumber(s string) string {
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return s
}

// finalBlock returns the rest of the last line that begins a ranking, and the lines
// below it. If there is none, it returns the last line and false.
func finalBlock(body string) (head string, below []string, ok bool) {
	lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if m := header.FindStringSubmatch(line); m != nil {
			slices.Reverse(below)
			return m[1], below, true
		}
		if line = strings.TrimSpace(emphasis.Replace(line)); line != "" {
			below = append(below, line)
		}
	}
	if len(lines) == 0 {
		return "", nil, false
	}
	return lines[len(lines)-1], nil, false
}

// readLines reads a list with one place a line.
func readLines(lines []string) ([]string, error) {
	var list []string
	numbered := 0
	for i, line := range lines {
		m := listLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || reference.MatchString(m[3]+m[5]) {
			return nil, fault(InvalidIndex, "line %q of the ranking is not one place", ellipsis(line, 80))
		}
		if m[1] != "" {
			if numbered++; m[1] != strconv.Itoa(i+1) {
				return nil, fault(InvalidIndex, "the ranking is numbered, but line %d is %q", i+1, ellipsis(line, 80))
			}
		}
		list = append(list, m[2]+m[4]+m[6]+m[7])
	}
	if numbered != 0 && numbered != len(list) {
		return nil, fault(InvalidIndex, "only %d of %d lines of the ranking are numbered", numbered, len(list))
	}
	return list, nil
}

var (
	emphasis  = strings.NewReplacer("*", " ", "`", " ", `"`, " ", "__", " ")
	word      = regexp.MustCompile(`(?i)\bcandidate\s*#?\s*(\d)`)
	sharp     = regexp.MustCompile(`#\s*(\d)`)
	names     = regexp.MustCompile(`(\d[\])]?)\s*\([^()]*\pL[^()]*\)`)
	enclosed  = regexp.MustCompile(`^[\[(]([^\[\]()]*)[\])]$`)
	bracketed = regexp.MustCompile(`[\[(]\s*(\d+)\s*[\])]`)
	separator = regexp.MustCompile(`\s*(?:[-=]>|[,;>|→，、])\s*(?:and\s)?\s*|\s+and\s+`)
	numbered  = regexp.MustCompile(`^(\d+)[.)]\s+(\d+)$`)
	blanks    = regexp.MustCompile(`^\d+(?:\s+\d+)+$`)
	digits    = regexp.MustCompile(`^\d+$`)
	rest      = regexp.MustCompile(`[,;]?\s*(?:…|\.\.\.|[.,;])$`)
)

// readLine reads a list on one line.
func readLine(s string) ([]string, error) {
	whole := s
	s = emphasis.Replace(s) // by blanks, which do not join digits
	s = word.ReplaceAllString(s, "$1")
	s = sharp.ReplaceAllString(s, "$1")
	s = names.ReplaceAllString(s, "$1")
	s = rest.ReplaceAllString(strings.TrimSpace(s), "")
	s = enclosed.ReplaceAllString(s, "$1")
	s = strings.TrimSpace(bracketed.ReplaceAllString(s, " $1 "))
	s = rest.ReplaceAllString(s, "")
	if blanks.MatchString(s) {
		return strings.Fields(s), nil
	}
	list := separator.Split(s, -1)
	marks := 0
	for i, part := range list {
		list[i] = strings.TrimSpace(part)
		if m := numbered.FindStringSubmatch(list[i]); m != nil && m[1] == strconv.Itoa(i+1) {
			list[i] = m[2]
			marks++
		}
		if !digits.MatchString(list[i]) {
			return nil, fault(InvalidIndex, "%q in the ranking %q is not a place", ellipsis(part, 40), ellipsis(whole, 80))
		}
	}
	if marks != 0 && marks != len(list) {
		return nil, fault(InvalidIndex, "only %d of %d places are numbered in the ranking %q", marks, len(list), ellipsis(whole, 80))
	}
	return list, nil
}

// choose makes a ranking of n candidates from a list of places.
func choose(list []string, n int) (Ranking, error) {
	var r Ranking
	seen := make([]bool, n+1)
	for _, s := range list {
		if !digits.MatchString(s) {
			return Ranking{}, fault(InvalidIndex, "%q is not a place", ellipsis(s, 40))
		}
		i, err := strconv.Atoi(s)
		switch {
		case i == 0:
			return Ranking{}, fault(InvalidIndex, "the ranking has a place 0, but places start at 1")
		case err != nil || i > n: // err: too large for an int
			r.note(NoteForeign)
		case seen[i]:
			r.note(NoteDuplicate)
		default:
			seen[i] = true
			r.Places = append(r.Places, i)
		}
	}
	switch {
	case len(list) == 0:
		return Ranking{}, fault(InvalidNoRanking, "the ranking is empty")
	case len(r.Places) == 0:
		return Ranking{}, fault(InvalidIndex, "no place of the ranking is from 1 to %d", n)
	}
	return r, nil
}

// rankingAttempts are the attempts at a ranking, the first included.
const rankingAttempts = 2

// ranking asks for a ranking of n candidates, which final describes. An answer that
// cannot be read is asked for again; one that was refused or cut off is not.
func (s *session) ranking(ctx context.Context, step string, p Prompt, n int, final string) ([]int, error) {
	for attempt := 1; ; attempt++ {
		name := step
		if attempt > 1 {
			name = fmt.Sprintf("%s/retry%d", step, attempt-1)
		}
		a, err := s.query(ctx, name, p)
		if err != nil {
			return nil, err
		}
		if err := incomplete(a); err != nil {
			return nil, err
		}
		places, err := s.keep(name)(ReadRanking(a.Text, n))
		var f *Fault
		if !errors.As(err, &f) || attempt == rankingAttempts {
			return places, err
		}
		s.record(name, "fault", f.Error())
		s.remark(name, NoteAgain)
		p.Messages = turn(p.Messages, a, fmt.Sprintf(rankingAgain, f.Detail, final))
	}
}

// keep records the notes of a ranking and returns its places.
func (s *session) keep(step string) func(Ranking, error) ([]int, error) {
	return func(r Ranking, err error) ([]int, error) {
		for _, note := range r.Notes {
			s.remark(step, note)
		}
		return r.Places, err
	}
}

// remark adds a note to the result and to the trace.
func (s *session) remark(step, note string) {
	s.record(step, "note", note)
	if !slices.Contains(s.notes, note) {
		s.notes = append(s.notes, note)
	}
}

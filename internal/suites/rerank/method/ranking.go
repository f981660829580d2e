package method

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// The notes of results, beside [eval.NoteSeveral]. The set is closed, so that notes can be counted.
const (
	NoteFormat    = "an answer was read although its format is not the one asked for"
	NoteDuplicate = "duplicate places were dropped from a ranking"
	NoteForeign   = "places that do not exist were dropped from a ranking"
	NoteAppended  = "candidates missing from the ranking of a window were appended"
	NoteUnread    = "an answer of a step could not be read, all or in part, and was ignored there"
	NoteAgain     = "an answer could not be used and was asked for again"
	NoteUnasked   = "a plan has more than eight questions, and the others were not asked" // see weaverQuestions
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
//     "|", ">", arrows or blanks, and written as 3, #3, [3], (3), C3 or candidate 3,
//     with a name in parentheses after them;
//   - a line "Ranking:" and a list below it, one place a line, with bullets or the
//     numbers 1, 2, 3 … in front, or a table with a column of candidates;
//   - a list of places in <answer> tags or in \boxed{};
//   - a JSON object with the key "ranking", whose value is an array, or such a list in
//     a string; or an array of objects with the key "candidate".
//
// Tokens that end a turn, rules and courtesies after it are left out, as
// [text.Bare] has it. Duplicates and places above n are dropped. Other text is not
// searched for numbers: text after the ranking, a place 0 (do the places start at
// 0?), ranges, ties, fractions, names without a place, and a marked ranking behind another one
// that differs are faults. Any other ranking that differs, before the end, is noted.
func ReadRanking(answer string, n int) (Ranking, error) {
	reply := text.Bare(answer)
	body := unfence(text.Narrow(reply.Text))
	list, exact, err := readList(body, reply.Marked)
	if err != nil {
		return Ranking{}, err
	}
	if before := unfence(text.Narrow(reply.Outside)); reply.Marked {
		other, _, err := readList(before, false)
		if f, ok := errors.AsType[*Fault](err); ok && f.Reason == InvalidNoRanking {
			other = list // there is none
		}
		if !slices.Equal(other, list) {
			return Ranking{}, fault(InvalidIndex, "the answer has two rankings, %q and %q", ellipsis(tail(before, 80), 80), ellipsis(body, 80))
		}
	}
	r, err := choose(list, n)
	if err == nil && (!exact || reply.Lenient || !strings.HasSuffix(unfence(reply.Text), body[strings.LastIndexByte(body, '\n')+1:])) {
		r.note(NoteFormat)
	}
	if err == nil && changed(unfence(text.Narrow(reply.Outside+"\n"+reply.Text)), list) {
		r.note(eval.NoteSeveral)
	}
	return r, err
}

// changed reports whether an answer has another ranking than the one that is read, in an object or
// behind the beginning of one.
func changed(answer string, list []string) bool {
	differs := func(other []string, err error) bool {
		return err == nil && len(other) > 0 && !slices.Equal(other, list)
	}
	if text.Others(answer, nil, func(object []byte) []byte {
		if other, _, _, err := readJSON(string(object)); differs(other, err) {
			return object
		}
		return nil
	}) != nil {
		return true
	}
	all := lines(answer)
	for i, line := range all {
		m := header.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		below := all[i+1:]
		if head := m[2] + m[3]; head != "" {
			below = []string{head}
		} else if end := slices.IndexFunc(below, func(l string) bool { _, err := readLine(l); return err != nil && !listLine.MatchString(l) }); end >= 0 {
			below = below[:end]
		}
		if len(below) > 0 && differs(readBlock("", below)) {
			return true
		}
	}
	return false
}

// readList reads the places of the ranking at the end of a text; marked means that the
// whole text is the final answer. Exact means that it is written as the prompts ask for.
func readList(body string, marked bool) (list []string, exact bool, err error) {
	if list, exact, found, err := readJSON(body); found {
		return list, exact, err
	}
	head, below, plain, ok := finalBlock(body)
	switch {
	case !ok && marked:
		if all := lines(body); len(all) == 1 {
			list, err = readLine(body)
		} else {
			list, err = readBlock("", all)
		}
	case !ok:
		err = fault(InvalidNoRanking, `the answer does not end with "Ranking: …" but with %q`, ellipsis(head, 80))
	default:
		list, err = readBlock(head, below)
	}
	return list, plain && asked.MatchString(head), err
}

// readBlock reads a ranking from the rest of its first line and the lines below it.
func readBlock(head string, below []string) ([]string, error) {
	all := strings.Join(below, "\n")
	if array, ok := jsonArray(head + all); ok {
		list, _ := elements(array)
		return list, nil
	}
	switch {
	case head == "" && len(below) == 0:
		return nil, fault(InvalidNoRanking, "the ranking is empty")
	case head != "" && len(below) > 0:
		return nil, fault(InvalidNoRanking, "text follows the ranking: %q", ellipsis(below[0], 80))
	case head != "":
		return readLine(head)
	case strings.HasPrefix(below[0], "|"):
		return readTable(below)
	case len(below) == 1:
		if list, err := readLine(below[0]); err == nil || !listLine.MatchString(below[0]) {
			return list, err
		}
	}
	return readLines(below)
}

var (
	// fences matches the lines around a code block.
	fences = regexp.MustCompile("(?m)^[ \t]*```[a-zA-Z]*[ \t]*\r?$")
	// header matches the line that begins a ranking, with Markdown emphasis; without
	// a colon only before a place or if nothing else is on the line.
	header = regexp.MustCompile("(?i)^[\\s*_`#>-]*((?:final\\s+)?answer\\s*[:：][\\s*_`]*|here\\s+is\\s+)?(?:(?:the|my)\\s+)?(?:final\\s+)?ranking(?:\\s+is)?[*_`\\s]*(?:[:：][\\s*_`]*(.*?)[\\s*_`]*|[-–—=][\\s*_`]+([\\[(#]*\\d.*?)[\\s*_`]*|[#\\s]*)$")
	// asked matches what the prompts ask for.
	asked = regexp.MustCompile(`^\d+(?:\s*,\s*\d+)*\.?$`)
	// listLine matches a line of a list: a bullet or a number, a place in one of its
	// forms, and a text, which needs parentheses after a bare place. Prompts show a
	// candidate as [3]; a (3) before a text may be the number of the line.
	listLine = regexp.MustCompile(`(?i)^(?:[-+*•]\s+|(\d+)[.)]\s+)?(?:(?:candidate\s*#?\s*|#\s*|C)(\d+)(\b.*)?|\[\s*#?(\d+)\s*\](.*)|\(\s*#?(\d+)\s*\)|(\d+)(?:\s*\([^()]*\pL[^()]*\))?[.,;]?)$`)
	// reference matches a place that cannot be part of a name.
	reference = regexp.MustCompile(`(?i)#\s*\d|\[\s*#?\d+\s*\]|\bcandidate\s*\d`)
)

// unfence removes the lines around code blocks.
func unfence(answer string) string { return strings.TrimSpace(fences.ReplaceAllString(answer, "")) }

// lines are the lines of a text without emphasis, empty ones left out.
func lines(s string) (list []string) {
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(emphasis.Replace(line)); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// readJSON reads the JSON with a ranking at the end of an answer. Found is false if
// there is none.
func readJSON(body string) (list []string, exact, found bool, err error) {
	object := ""
	places := text.Objects(body)
	array, isArray := jsonArray(body)
	switch last := len(places) - 1; {
	case isArray && len(places) == 1 && strings.Contains(body, `"ranking"`):
		object = body // a wrapper
	case isArray && last >= 0:
		list, _ = elements(array)
		return list, false, true, nil
	case last >= 0 && places[last][1] == len(body):
		object, exact = body[places[last][0]:], len(places) == 1 && places[0][0] == 0
	case last < 0 && strings.HasPrefix(body, "{") && strings.HasSuffix(body, "}"):
		object = body // to be repaired
	default:
		return nil, false, false, nil
	}
	r, err := text.ReadObjectWith(object, "ranking")
	if err != nil || r.Cut {
		return nil, false, false, nil
	}
	var said struct {
		Ranking any `json:"ranking"`
	}
	if json.Unmarshal(r.JSON, &said) != nil || said.Ranking == nil {
		return nil, false, false, nil
	}
	list, plain, err := readValue(said.Ranking)
	return list, exact && plain && !r.Wrapped && !r.Repaired, true, err
}

// readValue reads the places in a JSON value; plain means an array of numbers.
func readValue(v any) (list []string, plain bool, err error) {
	switch v := v.(type) {
	case nil:
	case []any:
		list, plain = elements(v)
	case string:
		if v != "" {
			list, err = readLine(v)
		}
	default:
		place, _ := element(v)
		list = []string{place}
	}
	return list, plain, err
}

// jsonArray decodes a text that is an array.
func jsonArray(s string) (array []any, ok bool) {
	ok = strings.HasPrefix(s, "[") && json.Unmarshal([]byte(s), &array) == nil
	return array, ok
}

// elements returns the elements of a JSON array as places; plain means that all are numbers.
func elements(array []any) (list []string, plain bool) {
	list, plain = []string{}, true
	for i, v := range array {
		place, number := element(v)
		if object, ok := v.(map[string]any); ok {
			place = placeOf(object, i+1, place)
		}
		list, plain = append(list, place), plain && number
	}
	return list, plain
}

// placeOf returns the place in an object such as {"rank": 1, "candidate": 3}; other if
// it is not the only number in it, apart from the rank.
func placeOf(object map[string]any, rank int, other string) string {
	var heads, cells []string
	for key, v := range object {
		s, number := element(v)
		if number && !candidateColumn.MatchString(key) && !rankColumn.MatchString(key) {
			return other // such as a score: does it decide the order?
		}
		heads, cells = append(heads, key), append(cells, s)
	}
	if place, ok := placeIn(heads, cells, rank); ok {
		return place
	}
	return other
}

// placeIn returns the candidate in a row of a table, or in an object, that is the rank-th. It
// is the only one under its heading, and a rank beside it must be right.
func placeIn(heads, cells []string, rank int) (place string, ok bool) {
	for i, head := range heads {
		switch {
		case candidateColumn.MatchString(head) && ok, rankColumn.MatchString(head) && strings.Trim(cells[i], ".) ") != strconv.Itoa(rank):
			return "", false
		case candidateColumn.MatchString(head):
			place, ok = cells[i], true
		}
	}
	return place, ok
}

// element returns a value of JSON as a place; number reports that it is a number. A
// value that is not a place stays as it is written.
func element(v any) (place string, number bool) {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case string:
		if list, err := readLine(v); err == nil && len(list) == 1 {
			return list[0], false
		}
		return v, false
	}
	return jsonText(v), false
}

// finalBlock returns the rest of the last line that begins a ranking, and the lines
// below it; plain means that it begins as asked for. If there is none, it returns the
// last line and false.
func finalBlock(body string) (head string, below []string, plain, ok bool) {
	split := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range slices.Backward(split) {
		if m := header.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			return m[2] + m[3], lines(strings.Join(split[i+1:], "\n")), m[1]+m[3] == "", true
		}
	}
	if len(split) == 0 {
		return "", nil, false, false
	}
	return split[len(split)-1], nil, false, false
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

// readTable reads a Markdown table with one column of candidates. A column of ranks
// must count 1, 2, 3 …
func readTable(rows []string) ([]string, error) {
	cells := func(row string) []string {
		list := strings.Split(strings.Trim(row, "| "), "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	heads := cells(rows[0])
	bad := rows[0]
	var list []string
	for i, row := range rows[min(2, len(rows)):] {
		bad = row
		is := cells(row)
		if len(is) != len(heads) || !strings.HasPrefix(row, "|") {
			break
		}
		cell, ok := placeIn(heads, is, i+1)
		place, err := readLines([]string{cell})
		if !ok || err != nil {
			break
		}
		list = append(list, place...)
	}
	if len(list) != len(rows)-2 || len(list) == 0 || !divider.MatchString(rows[1]) {
		return nil, fault(InvalidIndex, "row %q of the ranking is not one place", ellipsis(bad, 80))
	}
	return list, nil
}

var (
	candidateColumn = regexp.MustCompile(`(?i)^(?:candidates?|item|id|number)(?:[\s_]*(?:#|no\.?|number|id))?$`)
	rankColumn      = regexp.MustCompile(`(?i)^(?:rank(?:ing)?|position|place|#|no\.?)$`)
	divider         = regexp.MustCompile(`^[|:\s-]+$`)
)

var (
	emphasis  = strings.NewReplacer("*", " ", "`", " ", `"`, " ", "“", " ", "”", " ", "__", " ")
	word      = regexp.MustCompile(`(?i)\bcandidate\s*#?\s*(\d)`)
	letter    = regexp.MustCompile(`(?i)\bC(\d)`)
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
	s = emphasis.Replace(s) // all by blanks, which do not join digits
	s = word.ReplaceAllString(s, " $1")
	s = sharp.ReplaceAllString(s, " $1")
	s = names.ReplaceAllString(s, "$1 ")
	s = letter.ReplaceAllString(s, " $1") // not of a name
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

// rank asks for a ranking of k of the candidates shown, and returns their places in
// shown. An answer that cannot be read is asked for again; one that was refused or
// cut off is not. Misled reports that the prompt has a simulated wrong plan.
func (s *session) rank(ctx context.Context, step string, shown []int, k int, misled bool, parts ...string) (places []int, err error) {
	final := finalLine(k, len(shown))
	p := Prompt{System: rankSystem, Messages: ask1(slices.Concat([]string{s.request(), s.show(shown)}, parts, []string{final})...),
		Simulated: func(m Mind) string {
			return "I compared the candidates condition by condition.\nRanking: " + Join(s.places(shown, k, misled, m))
		}}
	err = s.attempts(ctx, step, p, rankingAttempts, func(name string, a Answer, last bool) (wrong, again string, err error) {
		r, err := ReadRanking(a.Text, len(shown))
		places = s.kept(name, r)
		f, ok := errors.AsType[*Fault](err)
		if !ok || last {
			return "", "", err
		}
		return f.Error(), fmt.Sprintf(wording("ranking_again"), f.Detail, final), nil
	})
	return places, err
}

// kept returns the places of a ranking and records its notes.
func (s *session) kept(step string, r Ranking) []int {
	for _, note := range r.Notes {
		s.remark(step, note)
	}
	return r.Places
}

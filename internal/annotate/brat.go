package annotate

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

// The format of brat is a ZIP file with a folder for brat: for each answer NAME.txt, the
// text, and NAME.ann, its passages. brat has nothing for other answers, which are in
// bratIndex with the subject of each name.
const bratIndex = "subjects.jsonl"

// largestBrat limits the files of an import together, unpacked.
const largestBrat = 256 << 20

// A bratAnswer is a line of the index.
type bratAnswer struct {
	Name     string  `json:"name"`
	Subject  Subject `json:"subject"`
	ShownAsA string  `json:"shown_as_a,omitempty"`
	By       string  `json:"by,omitempty"`
	Answer   Answer  `json:"answer"`
}

// bratType is the name of a passage as brat allows it: letters, digits, - and _.
func bratType(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// bratTypes are the names of the passages of a task by their types in brat.
func bratTypes(t study.Task) (map[string]string, error) {
	types := map[string]string{}
	for _, q := range t.Ask {
		if q.Type != "span" {
			continue
		}
		for _, label := range append(slices.Clone(q.Options), "") {
			if (label == "") != (len(q.Options) == 0) {
				continue
			}
			name := outSpan{Question: q.Name, Label: label}.name()
			if other, taken := types[bratType(name)]; taken {
				return nil, fmt.Errorf("brat has one name %s for %q and %q: use another format, or other labels", bratType(name), other, name)
			}
			types[bratType(name)] = name
		}
	}
	return types, nil
}

func exportBrat(t study.Task, list []record, offsets string) ([]byte, error) {
	if _, err := bratTypes(t); err != nil {
		return nil, err
	}
	var b, index bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, content string) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		return err
	}
	for i, x := range list {
		name := strings.TrimSuffix(fmt.Sprintf("%05d-%s", i+1, x.By), "-")
		var ann strings.Builder
		for k, s := range x.Spans {
			if parts, text := bratParts(s, offsets); parts != "" {
				fmt.Fprintf(&ann, "T%d\t%s %s\t%s\n", k+1, bratType(s.name()), parts, text)
			}
		}
		line, err := json.Marshal(bratAnswer{name, x.Subject, x.ShownAsA, x.By, x.Answer})
		if err != nil {
			return nil, err
		}
		index.Write(append(line, '\n'))
		if err := errors.Join(add(name+".txt", x.Text), add(name+".ann", ann.String())); err != nil {
			return nil, err
		}
	}
	err := errors.Join(add(bratIndex, index.String()), z.Close())
	return b.Bytes(), err
}

// bratParts are the offsets of a passage, and its text on one line. brat has no passages
// over several lines: these have parts, which end before a line feed.
func bratParts(s outSpan, offsets string) (parts, text string) {
	var list []string
	length := func(part string) int { return units(part, utf8.RuneCountInString(part), offsets) }
	at := s.Start
	for line := range strings.SplitSeq(s.Text, "\n") {
		if line != "" {
			list = append(list, fmt.Sprintf("%d %d", at, at+length(line)))
		}
		at += length(line) + 1
	}
	return strings.Join(list, ";"), strings.ReplaceAll(strings.Trim(s.Text, "\n"), "\n", " ")
}

// fromBrat reads a folder of brat that an export made.
func (f File) fromBrat(t study.Task) (list []record, err error) {
	types, err := bratTypes(t)
	if err != nil {
		return nil, err
	}
	files, err := f.unzipped()
	if err != nil {
		return nil, err
	}
	index, ok := files[bratIndex]
	if !ok {
		return nil, fmt.Errorf("%s has no %s: export the task, and keep this file in the folder of brat", f.Name, bratIndex)
	}
	line := 0
	for data := range bytes.Lines(index) {
		line++
		var of bratAnswer
		if err := dataset.DecodeStrict(data, &of); err != nil {
			return nil, fmt.Errorf("%s: %s:%d: %w", f.Name, bratIndex, line, err)
		}
		ann, ok := files[of.Name+".ann"]
		text, both := files[of.Name+".txt"]
		if !ok || !both {
			return nil, fmt.Errorf("%s: %s:%d: %s.txt or %s.ann is missing", f.Name, bratIndex, line, of.Name, of.Name)
		}
		x := record{Subject: of.Subject, ShownAsA: of.ShownAsA, By: of.By, Text: string(text), Answer: of.Answer}
		if x.Answer == nil {
			x.Answer = Answer{}
		}
		for n, l := range strings.Split(strings.TrimSuffix(string(ann), "\n"), "\n") {
			if err := x.fromBratLine(l, types, f.Offsets); err != nil {
				return nil, fmt.Errorf("%s: %s.ann:%d: %w", f.Name, of.Name, n+1, err)
			}
		}
		list = append(list, x)
	}
	return list, nil
}

// fromBratLine adds a passage. Lines of other kinds, such as notes, are left out.
func (x *record) fromBratLine(line string, types map[string]string, offsets string) error {
	if !strings.HasPrefix(line, "T") {
		return nil
	}
	fields := strings.SplitN(line, "\t", 3)
	if len(fields) != 3 {
		return errors.New("want an id, a type with offsets, and the text, with tabs between them")
	}
	kind, parts, _ := strings.Cut(fields[1], " ")
	name, known := types[kind]
	if !known {
		return fmt.Errorf("the task has no passages of type %q", kind)
	}
	runes := []rune(x.Text)
	start, end := -1, -1 // of the passage, in code points
	var first, last int  // in units of the file
	for part := range strings.SplitSeq(parts, ";") {
		from, to, _ := strings.Cut(part, " ")
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("offsets %q: want two numbers", part)
		}
		i, err1 := points(x.Text, a, offsets)
		j, err2 := points(x.Text, b, offsets)
		switch {
		case err1 != nil || err2 != nil || i >= j:
			return cmp.Or(err1, err2, fmt.Errorf("offsets %q: want a start before the end", part))
		case start < 0:
			start, first = i, a
		case i < end || strings.Trim(string(runes[end:i]), "\n") != "":
			return fmt.Errorf("a passage with gaps, %s: want one without", parts)
		}
		end, last = j, b
	}
	text := string(runes[start:end])
	if line := strings.ReplaceAll(text, "\n", " "); strings.Join(strings.Fields(line), " ") != strings.Join(strings.Fields(fields[2]), " ") {
		return fmt.Errorf("the passage %s is %q, not %q: give what the offsets count with --offsets", parts, text, fields[2])
	}
	x.named(first, last, text, name)
	return nil
}

// unzipped reads the files of an archive. Their names are never used as paths.
func (f File) unzipped() (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(f.Data), int64(len(f.Data)))
	if err != nil {
		return nil, fmt.Errorf("reading %s: want a ZIP file as --export brat writes: %w", f.Name, err)
	}
	files, left := map[string][]byte{}, int64(largestBrat)
	for _, e := range z.File {
		r, err := e.Open()
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", e.Name, f.Name, err)
		}
		data, err := io.ReadAll(io.LimitReader(r, left+1))
		if left -= int64(len(data)); err == nil && left < 0 {
			err = fmt.Errorf("the files have more than %d bytes", largestBrat)
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", e.Name, f.Name, err)
		}
		files[e.Name] = data
	}
	return files, nil
}

package annotate

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What offsets count.
const (
	CodePoints = "codepoint"
	utf16Units = "utf16"
	byteUnits  = "byte"
)

// Offsets lists what offsets can count.
func Offsets() []string { return []string{CodePoints, utf16Units, byteUnits} }

// split finds the page of a passage of the joined text, in code points.
func split(pages []Page, start, end int) (Span, error) {
	from := 0
	for _, p := range pages {
		n := utf8.RuneCountInString(p.Text)
		if start >= from && end <= from+n && start < end {
			return Span{Page: p.Number, Start: start - from, End: end - from}, nil
		}
		from += n + 1
	}
	return Span{}, fmt.Errorf("the passage %d to %d is on no page, or on several", start, end)
}

// units converts an offset in code points to other units.
func units(text string, at int, offsets string) int {
	runes := []rune(text)[:at]
	switch offsets {
	case utf16Units:
		return len(utf16.Encode(runes))
	case byteUnits:
		return len(string(runes))
	}
	return at
}

// points converts an offset in other units to code points. An offset inside of a
// character is an error.
func points(text string, at int, offsets string) (int, error) {
	n, count := 0, 0
	for _, r := range text {
		if n >= at {
			break
		}
		switch offsets {
		case utf16Units:
			n += utf16.RuneLen(r)
		case byteUnits:
			n += utf8.RuneLen(r)
		default:
			n++
		}
		count++
	}
	if n != at {
		return 0, fmt.Errorf("offset %d (%s) is not between two characters of the text: give what the offsets count with --offsets", at, offsets)
	}
	return count, nil
}

func checkOffsets(offsets string) error {
	if !slices.Contains(Offsets(), offsets) {
		return fmt.Errorf("--offsets %s: want one of %s", offsets, strings.Join(Offsets(), ", "))
	}
	return nil
}

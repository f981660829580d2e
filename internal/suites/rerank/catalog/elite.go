package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// years makes a list of a writer's years of elite status, which Yelp writes as
// one text: "2017,2018", "2018" or "". What counts is how many there are, and one
// year alone must not count as 2018. Values that hold no years stay as they are.
func years(fields map[string]Value) {
	v, ok := fields["elite"]
	if !ok {
		return
	}
	var said []Value
	switch v.Kind() {
	case Text:
		for part := range strings.SplitSeq(v.Text(), ",") {
			said = append(said, TextValue(strings.TrimSpace(part)))
		}
	case Number:
		said = append(said, v)
	case List:
		said = v.List()
	default:
		return
	}
	list := []Value{}
	for _, part := range said {
		if part = year(part); !part.IsZero() && !slices.ContainsFunc(list, part.Equal) {
			list = append(list, part)
		}
	}
	fields["elite"] = ListValue(list...)
}

// year types one entry; it is missing where that says nothing. Yelp's files cut
// 2020 into "20,20".
func year(part Value) Value {
	text := part.String()
	if part.IsZero() || text == "" || strings.EqualFold(text, "none") {
		return Value{}
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n == 20 {
			n = 2020
		}
		return NumberValue(float64(n))
	}
	return part
}

package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// years converts a user's years of elite status to a list. Yelp writes them as
// one text: "2017,2018", "2018" or "". Only their number counts, so the year 2018
// must not be read as the number 2018.
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

// year parses one entry; it is missing if the entry is empty. Yelp's files split
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

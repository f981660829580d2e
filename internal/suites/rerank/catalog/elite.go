package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// years converts a user's years of elite status to a list. Yelp writes them as
// one text: "2017,2018", "2018" or "". Only their number counts, so the year 2018
// must not be read as the number 2018.
func years(fields map[string]any) {
	var said []any
	elite := fields["elite"]
	if s, ok := elite.(string); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
			elite = float64(n)
		}
	}
	switch v := elite.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			said = append(said, strings.TrimSpace(part))
		}
	case float64:
		if v < 1900 {
			fields["elite"] = v // already a number of years
			return
		}
		said = []any{v}
	case []any:
		said = v
	default:
		return
	}
	list := []any{}
	for _, part := range said {
		if n, err := strconv.Atoi(Text(part)); n == 20 {
			part = 2020.0 // Yelp's files split 2020 into "20,20"
		} else if err == nil {
			part = float64(n)
		}
		text := Text(part)
		if text != "" && !strings.EqualFold(text, "none") && !slices.ContainsFunc(list, func(v any) bool { return Equal(v, part) }) {
			list = append(list, part)
		}
	}
	fields["elite"] = list
}

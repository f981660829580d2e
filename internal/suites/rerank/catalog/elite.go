package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// years converts a user's years of elite status to a list, whose number counts. Yelp writes them
// as one text: "2017,2018", "2018" or ""; a number below 1900 is one of years already.
func years(fields map[string]any) {
	switch fields["elite"].(type) {
	case string, float64:
	default:
		return
	}
	parts, list := strings.Split(Text(fields["elite"]), ","), []any{}
	for _, part := range parts {
		var year any = strings.TrimSpace(part)
		switch n, err := strconv.Atoi(year.(string)); {
		case n == 20 && len(parts) > 1:
			year = 2020.0 // Yelp's files split 2020 into "20,20"
		case err == nil && n < 1900 && len(parts) == 1:
			fields["elite"] = float64(n)
			return
		case err == nil:
			year = float64(n)
		}
		if year != "" && !strings.EqualFold(Text(year), "none") && !slices.Contains(list, year) {
			list = append(list, year)
		}
	}
	fields["elite"] = list
}

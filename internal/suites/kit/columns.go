package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// OtherColumns notes the columns of a file that a suite does not know and that are not
// among the strata of the study, which key names.
func OtherColumns(c *table.Columns, strata []string, key string) []string {
	names := slices.DeleteFunc(c.OtherNames(), func(name string) bool { return slices.Contains(strata, name) })
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: other columns, shown beside the item: %s; %s breaks results down by them", c.Table.File, strings.Join(names, ", "), key)}
}

// SplitColumns divides the values of other columns into those of the strata that a study
// names, and those that are shown beside the item.
func SplitColumns(values []table.Value, strata []string) (levels, shown []eval.Level) {
	const long = 200
	for _, v := range values {
		if slices.Contains(strata, v.Column) {
			levels = append(levels, eval.Level{Name: v.Column, Value: v.Text})
		} else {
			shown = append(shown, eval.Level{Name: v.Column, Value: text.Shorten(v.Text, long)})
		}
	}
	return levels, shown
}

// CheckStrata reports strata that are no further columns of a file, and those with a name
// of the suite's own. key is that of the study.
func CheckStrata(f *study.File, key string, strata, own []string, c *table.Columns, errs *study.Errors) {
	for i, name := range strata {
		if slices.Contains(own, name) {
			errs.Add(f.Errorf(fmt.Sprintf("%s[%d]", key, i), "%q is a stratum of the suite: rename the column", name))
		}
		if other := c.OtherNames(); !slices.Contains(other, name) {
			errs.Add(f.Errorf(fmt.Sprintf("%s[%d]", key, i), "%s has no further column %q%s", c.Table.File, name, DidYouMean(name, other)))
		}
	}
}

package kit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// TableKeys are the keys of a study that name a table, under Key.
type TableKeys struct {
	Key, Path   string
	Columns     []string          // that the suite knows
	Names       []string          // those of them whose values are names, see [table.Table.Gaps]
	Renamed     map[string]string // their names in the file
	Strata, Own []string          // further columns to break results down by; strata of the suite
}

// ReadTable reads a table of a study and finds its columns. ok is false if it cannot be used.
func ReadTable(f *study.File, k TableKeys, errs *study.Errors) (t *table.Table, known *table.Columns, ok bool) {
	for _, ours := range slices.Sorted(maps.Keys(k.Renamed)) {
		if !slices.Contains(k.Columns, ours) {
			errs.Add(f.Errorf(k.Key+".columns."+ours, "unknown column %q: want one of %s%s", ours, strings.Join(k.Columns, ", "), text.DidYouMean(ours, k.Columns)))
		}
	}
	t, err := table.Read(f.Resolve(k.Path))
	if errors.As(err, new(dataset.OpenError)) {
		err = f.Errorf(k.Key+".path", "%w", err)
	}
	if err != nil {
		AddAll(errs, err)
		return nil, nil, false
	}
	ok = true
	known = t.Bind(table.Names{Known: k.Columns, Keys: k.Names, File: k.Renamed, Remedy: func(known, found string) string {
		return fmt.Sprintf("rename it, or write %s.columns: {%s: %s} in the study; {%s: ''} says that it is something else", k.Key, known, found, known)
	}}, func(ours string, err error) {
		ok = false
		if ours != "" {
			err = f.Errorf(k.Key+".columns."+ours, "%w", err)
		}
		errs.Add(err)
	})
	CheckStrata(f, k, known, errs)
	return t, known, ok
}

// OtherColumns notes the columns of a file that a suite does not know and that are not
// among the strata of the study, and the cells whose apostrophe is left out.
func OtherColumns(c *table.Columns, strata []string) (notes []string) {
	if said := c.Table.Escaped(); said != "" {
		notes = append(notes, said)
	}
	names := slices.DeleteFunc(c.OtherNames(), func(name string) bool { return slices.Contains(strata, name) })
	if len(names) == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("%s: other columns, shown beside the item: %s; data.strata breaks results down by them", c.Table.File, strings.Join(names, ", ")))
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
// of the suite's own.
func CheckStrata(f *study.File, k TableKeys, c *table.Columns, errs *study.Errors) {
	AddAll(errs, c.Table.Gaps(nil, k.Strata))
	for i, name := range k.Strata {
		key := fmt.Sprintf("%s.strata[%d]", k.Key, i)
		if slices.Contains(k.Own, name) {
			errs.Add(f.Errorf(key, "%q is a stratum of the suite: rename the column", name))
		}
		if other := c.OtherNames(); !slices.Contains(other, name) {
			errs.Add(f.Errorf(key, "%s has no further column %q%s", c.Table.File, name, text.DidYouMean(name, other)))
		}
	}
}

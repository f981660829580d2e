package text

import (
	"errors"
	"fmt"
	"strings"
)

// booleans are the words and marks that are true or false, case folded, in English and in
// German, French, Spanish, Italian, Portuguese, Dutch, Chinese, Japanese and Korean. In
// the forms of the SEC a box with a cross is a checked one.
var booleans = func() map[string]bool {
	all := map[string]bool{}
	for yes, words := range map[bool]string{
		true:  "true yes 1 ☑ ☒ [x] wahr ja vrai oui verdadero sí si vero sì verdadeiro sim waar ja 是 はい 예 네",
		false: "false no 0 ☐ [] falsch nein faux non falso no não nao onwaar nee 否 いいえ 아니오 아니요",
	} {
		for w := range strings.FieldsSeq(words) {
			all[w] = yes
		}
	}
	all["[ ]"] = false
	return all
}()

var errNotBoolean = errors.New("neither yes nor no; write true or false")

// ParseBoolean reads a text that says true or false: these words or yes and no in one of
// ten languages, 1 and 0, or a box with a mark or without one (☑, [x], ☐, [ ]).
func ParseBoolean(s string) (bool, error) {
	// The box must be tried first: Fold takes its brackets off.
	yes, ok := booleans[foldCase(Minimal(s))]
	if !ok {
		yes, ok = booleans[Fold(s)]
	}
	if !ok {
		return false, fmt.Errorf("reading %q as a boolean: %w", clip(s), errNotBoolean)
	}
	return yes, nil
}

// containsBoolean looks for a word or box that means the value. The numbers 1 and 0 of a
// running text mean something else, unless the value is written so.
func containsBoolean(quote, value string) bool {
	want, err := ParseBoolean(value)
	if err != nil {
		return containsWords(Fold(quote), Fold(value))
	}
	q := foldCase(Minimal(quote))
	if containsWords(q, foldCase(Minimal(value))) {
		return true
	}
	for w, yes := range booleans {
		if yes == want && w != "1" && w != "0" && containsWords(q, w) {
			return true
		}
	}
	return false
}

package catalog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// ParseLiteral parses a Python literal as Yelp writes attributes: None, True, False, numbers,
// strings with or without u, lists, and dictionaries with string keys. Nothing is evaluated: the
// literal is rewritten as JSON.
func ParseLiteral(s string) (any, error) {
	var list []any
	if dataset.DecodeLoose([]byte("["+literalToken.ReplaceAllStringFunc(s, asJSON)+"]"), &list) != nil || len(list) != 1 {
		return nil, fmt.Errorf("want None, True, False, a number, a quoted text, [...] or {...}, got %q", prose.Shorten(s, 40))
	}
	return list[0], nil
}

var (
	literalToken = regexp.MustCompile(`[uU]?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|[A-Za-z_]\w*`)
	literalText  = strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\"`, `\"`, `"`, `\"`, `\x`, `\u00`)
)

// asJSON writes a text or a word of a literal as JSON; what Python does not have is made invalid.
func asJSON(token string) string {
	if at := strings.IndexAny(token, `'"`); at >= 0 {
		return `"` + literalText.Replace(token[at+1:len(token)-1]) + `"`
	}
	switch token {
	case "None":
		return "null"
	case "True", "False":
		return strings.ToLower(token)
	case "null", "true", "false":
		return "?"
	}
	return token
}

// Interpret parses a text as a Python literal or one of JSON's true, false and
// null. A text that does not parse is returned as it is.
func Interpret(s string) any {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true":
		return true
	case "false":
		return false
	case "none", "null":
		return nil
	}
	if v, err := ParseLiteral(s); err == nil {
		return v
	}
	return s
}

var (
	// onlyLiteral matches the start of texts that can only be Python literals.
	onlyLiteral = regexp.MustCompile(`^\s*([\[{]|u['"])`)
	// likeLiteral matches the start of texts that may be literals; "(cash only)"
	// and "'Round the corner" are not.
	likeLiteral = regexp.MustCompile(`^\s*([('"]|[UbBrR]['"]|[A-Za-z_][\w.]*\()`)
)

// typed parses an attribute that is a text, also in maps. If all texts are literals, as in
// Yelp's files, one that does not parse is an error. Otherwise it stays a text, with a doubt
// if it looks like a literal.
func typed(v any, allLiterals bool) (value any, doubts []error, err error) {
	switch v := v.(type) {
	case string:
		value, err := ParseLiteral(v)
		switch {
		case err == nil || allLiterals || onlyLiteral.MatchString(v):
			return value, nil, err
		case likeLiteral.MatchString(v):
			return v, []error{err}, nil
		}
	case map[string]any:
		for _, key := range Keys(v) {
			part, more, err := typed(v[key], allLiterals)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", key, err)
			}
			for _, doubt := range more {
				doubts = append(doubts, fmt.Errorf("%s: %w", key, doubt))
			}
			v[key] = part
		}
	}
	return v, doubts, nil
}

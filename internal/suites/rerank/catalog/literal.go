package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// ParseLiteral parses a Python literal as Yelp writes attributes: None, True,
// False, decimal numbers, strings with or without u, lists, and dictionaries
// with string keys (the last of duplicate keys counts). Nothing is evaluated: the
// literal is rewritten as JSON, token by token. Errors contain the column.
func ParseLiteral(s string) (v any, err error) {
	var out []byte
	var starts [][2]int // of tokens: in out and in s
	column := func(at int) int { return utf8.RuneCountInString(s[:at]) + 1 }
	for at := 0; ; {
		at = len(s) - len(strings.TrimLeft(s[at:], " \t\r\n"))
		token := literalToken.FindString(s[at:])
		starts = append(starts, [2]int{len(out), at})
		if token == "" {
			break
		}
		if out, err = appendJSON(out, token); err != nil {
			return nil, fmt.Errorf("column %d: %w", column(at), err)
		}
		out = append(out, ' ')
		at += len(token)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		found := len(out)
		if e, ok := errors.AsType[*json.SyntaxError](err); ok && int(e.Offset) <= len(out) && !strings.HasPrefix(err.Error(), "unexpected end") {
			found = int(e.Offset) - 1
		}
		i := len(starts) - 1
		for starts[i][0] > found {
			i--
		}
		return nil, fmt.Errorf("column %d: %s", column(starts[i][1]), strings.TrimSuffix(err.Error(), " of JSON input"))
	}
	return v, nil
}

// appendJSON appends a token of a literal as JSON.
func appendJSON(out []byte, token string) ([]byte, error) {
	if strings.ContainsAny(token, `'"`) {
		text, err := unquote(token)
		return append(out, kit.JSON(text)...), err
	}
	switch token {
	case "]", "}":
		return append(bytes.TrimSuffix(out, []byte(", ")), token...), nil // a comma may trail
	case "[", "{", ",", ":":
		return append(out, token...), nil
	case "None":
		return append(out, "null"...), nil
	case "True", "False":
		return append(out, strings.ToLower(token)...), nil
	}
	n, err := strconv.ParseFloat(token, 64)
	if err != nil || !literalNumber.MatchString(token) {
		return nil, fmt.Errorf("%q is not a Python literal: want None, True, False, a number, a quoted text, [...] or {...}", prose.Shorten(token, 40))
	}
	return strconv.AppendFloat(out, n, 'g', -1, 64), nil
}

var (
	quotedText    = `[uU]?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")`
	literalToken  = regexp.MustCompile(`^(?:` + quotedText + `|[uU]?['"]|[\w.+-]+|(?s:.))`)
	literalNumber = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)
)

// unquote returns the text of a string. It accepts the escapes that Go and Python share; any
// other backslash is literal.
func unquote(token string) (string, error) {
	begin := strings.IndexAny(token, `'"`) + 1
	if begin == len(token) {
		return "", errors.New("unterminated string")
	}
	var b strings.Builder
	for rest := token[begin : len(token)-1]; rest != ""; {
		switch {
		case rest[0] == '\\' && strings.IndexByte(`'"`, rest[1]) >= 0:
			b.WriteByte(rest[1])
			rest = rest[2:]
		case rest[0] == '\\' && strings.IndexByte(`\abfnrtvxuU01234567`, rest[1]) >= 0:
			r, _, tail, err := strconv.UnquoteChar(rest, 0)
			if err != nil {
				return "", fmt.Errorf("invalid escape in %s", prose.Shorten(token, 40))
			}
			b.WriteRune(r)
			rest = tail
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String(), nil
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

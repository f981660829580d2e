package study

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"
)

// DotEnv adds the variables of the .env file at path to an environment: a
// variable that getenv has keeps its value. Without the file, getenv is
// returned as it is.
//
// A line is NAME=value, with "export " before it or not. Values may stand in
// single quotes, in which everything is itself, or in double quotes, in which
// \n, \t, \" and \\ are escapes; without quotes, " #" begins a comment.
// Nothing is expanded. Errors name the line and never what stands in it, since
// that is where keys are.
func DotEnv(path string, getenv func(string) string) (func(string) string, error) {
	data, err := readFile(path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return getenv, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading environment variables: %w", err)
	}
	vars, err := parseDotEnv(path, data)
	if err != nil {
		return nil, err
	}
	return func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return vars[name]
	}, nil
}

// variableForm is what a shell takes as the name of a variable.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func parseDotEnv(path string, data []byte) (map[string]string, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: more than %d bytes are too many for environment variables", path, maxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: the file is not UTF-8: save it as UTF-8", path)
	}
	vars, lines := map[string]string{}, map[string]int{}
	var errs Errors
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := parseVariable(line)
		if err == nil && lines[name] > 0 {
			err = fmt.Errorf("the variable was set in line %d already: remove one", lines[name])
		}
		if err != nil {
			errs.Add(&Error{Pos: Position{File: path, Line: number, Column: 1}, Err: err})
			continue
		}
		vars[name], lines[name] = value, number
	}
	return vars, errs.Err()
}

// parseVariable reads one line that holds a variable.
func parseVariable(line string) (name, value string, err error) {
	if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimLeft(rest, " \t")
	}
	name, value, ok := strings.Cut(line, "=")
	if name = strings.TrimRight(name, " \t"); !ok || !variableForm.MatchString(name) {
		return "", "", errors.New("want NAME=value (the line is not shown, since it could hold a key)")
	}
	value = strings.TrimLeft(value, " \t")
	switch {
	case value == "" || value[0] == '#':
		return name, "", nil
	case value[0] == '\'':
		value, err = singleQuoted(value[1:])
	case value[0] == '"':
		value, err = doubleQuoted(value[1:])
	default:
		for i := 1; i < len(value); i++ {
			if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
				value = value[:i]
				break
			}
		}
		value = strings.TrimRight(value, " \t")
	}
	return name, value, err
}

func singleQuoted(s string) (string, error) {
	value, rest, ok := strings.Cut(s, "'")
	if !ok {
		return "", errors.New("the closing ' is missing")
	}
	return value, comment(rest)
}

func doubleQuoted(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), comment(s[i+1:])
		case '\\':
			if i++; i == len(s) {
				return "", errors.New(`the closing " is missing`)
			}
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$':
				b.WriteByte(s[i])
			default:
				return "", errors.New(`in double quotes a backslash stands only in \n, \t, \", \$ and \\: use single quotes`)
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", errors.New(`the closing " is missing`)
}

// comment accepts what may follow a quoted value.
func comment(rest string) error {
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
		return errors.New("something follows the closing quote: only a comment may")
	}
	return nil
}

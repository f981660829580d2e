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

// DotEnv adds the variables of the .env file at path to an environment; variables
// of getenv take precedence. Without the file it returns getenv.
//
// A line is NAME=value, optionally after "export ". Values may be in single
// quotes, without escapes, or in double quotes, with the escapes \n, \t, \" and
// \\; without quotes, " #" starts a comment. Variables are not expanded. Errors
// contain the line number but never the text, which may be a key. Libraries for
// such files expand $, cut values at any #, or print invalid lines.
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

func parseDotEnv(path string, data []byte) (map[string]string, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: the file is larger than the limit of %d bytes", path, maxBytes)
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
			err = fmt.Errorf("duplicate variable: first on line %d; remove one", lines[name])
		}
		if err != nil {
			errs.Add(&Error{Pos: Position{File: path, Line: number, Column: 1}, Err: err})
			continue
		}
		vars[name], lines[name] = value, number
	}
	return vars, errs.Err()
}

// These are compiled once and never change.
var (
	variableLine = regexp.MustCompile(`^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$`)
	quotedValue  = regexp.MustCompile(`^(?:'([^']*)'|"((?:[^"\\]|\\.)*)")[ \t]*(.*)$`)
	escapedValue = regexp.MustCompile(`^(?:[^\\]|\\[nt"\\$])*$`)
	lineComment  = regexp.MustCompile(`[ \t]+#.*$`)
)

// parseVariable reads one line that holds a variable.
func parseVariable(line string) (name, value string, err error) {
	m := variableLine.FindStringSubmatch(line)
	if m == nil {
		return "", "", errors.New("want NAME=value (the line is not shown, since it could hold a key)")
	}
	name, value = m[1], m[2]
	switch {
	case value == "" || value[0] == '#':
		return name, "", nil
	case value[0] == '\'' || value[0] == '"':
		value, err = unquote(value)
		return name, value, err
	}
	return name, lineComment.ReplaceAllString(value, ""), nil
}

// unquote reads a value that begins with a quote.
func unquote(value string) (string, error) {
	m := quotedValue.FindStringSubmatch(value)
	switch {
	case m == nil:
		return "", fmt.Errorf("missing closing %c", value[0])
	case m[3] != "" && m[3][0] != '#':
		return "", errors.New("unexpected text after the closing quote: only a comment may follow")
	case value[0] == '\'':
		return m[1], nil
	case !escapedValue.MatchString(m[2]):
		return "", errors.New(`in double quotes only \n, \t, \", \$ and \\ are valid escapes: use single quotes`)
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\$`, `$`, `\\`, `\`).Replace(m[2]), nil
}

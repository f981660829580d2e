package process

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Split cuts a command into words as a shell would cut it, without being one.
//
// White space separates words. Between single quotes everything is itself.
// Between double quotes, and outside quotes, a backslash before a quote, a
// backslash or white space makes that character itself, and before any other
// is itself. Pieces that touch are one word: --name="my file" is.
//
// Nothing is expanded and nothing is piped. So that no command means something
// else here than in a terminal, the characters a shell would act on are an
// error outside quotes: | & ; < > ( ) $ ` * and ~ at the start of a word.
func Split(command string) ([]string, error) {
	s := splitter{rest: command}
	for s.rest != "" {
		if err := s.step(); err != nil {
			return nil, fmt.Errorf("command %q: %w", command, err)
		}
	}
	s.end()
	if len(s.words) == 0 || s.words[0] == "" {
		return nil, fmt.Errorf("command %q: names no program", command)
	}
	return s.words, nil
}

type splitter struct {
	rest  string
	word  strings.Builder
	begun bool // a word may be begun and empty: ""
	words []string
}

const space = " \t\r\n"

// step takes one character, or all between two quotes, from what is left.
func (s *splitter) step() error {
	c := s.take()
	switch {
	case strings.IndexByte(space, c) >= 0:
		s.end()
	case c == 0:
		return errors.New("holds a zero byte")
	case c == '\'':
		text, rest, closed := strings.Cut(s.rest, "'")
		if !closed {
			return errors.New("the closing ' is missing")
		}
		if strings.IndexByte(text, 0) >= 0 {
			return errors.New("holds a zero byte")
		}
		s.rest = rest
		s.write(text)
	case c == '"':
		return s.quoted()
	case strings.IndexByte("|&;<>()$`*", c) >= 0, c == '~' && !s.begun:
		return fmt.Errorf("%q is for a shell, and none runs here: put the command in a script, or quote the character if it is meant as it stands", string(c))
	default:
		s.write(s.escaped(c))
	}
	return nil
}

func (s *splitter) quoted() error {
	s.begun = true
	for s.rest != "" {
		switch c := s.take(); c {
		case '"':
			return nil
		case 0:
			return errors.New("holds a zero byte")
		default:
			s.write(s.escaped(c))
		}
	}
	return errors.New(`the closing " is missing`)
}

func (s *splitter) take() byte {
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

// escaped is the character c stands for, which is the next one when c is a
// backslash that makes it itself.
func (s *splitter) escaped(c byte) string {
	if c == '\\' && s.rest != "" && strings.IndexByte(`'"\`+space, s.rest[0]) >= 0 {
		c = s.take()
	}
	return string([]byte{c})
}

func (s *splitter) write(text string) {
	s.begun = true
	s.word.WriteString(text)
}

func (s *splitter) end() {
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.begun = false
}

// program finds the program a command names: on the PATH, or by a path that is
// relative to dir.
func program(name, dir string) (string, error) {
	bare := filepath.Base(name) == name
	path := name
	if !bare && !filepath.IsAbs(name) {
		absolute, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		path = absolute
	}
	found, err := exec.LookPath(path)
	if err == nil {
		return found, nil
	}
	var why *exec.Error
	if errors.As(err, &why) {
		err = why.Err
	}
	if bare {
		return "", fmt.Errorf("program %q: %w: install it, or write ./%s for a program in %s", name, err, name, shownDir(dir))
	}
	return "", fmt.Errorf("program %q (relative paths begin in %s): %w", name, shownDir(dir), err)
}

func shownDir(dir string) string {
	if dir == "" {
		return "the current folder"
	}
	return dir
}

// Withheld reports whether a variable of this name is kept from commands,
// because such names hold the keys of model providers: a pipeline should not
// be able to spend a study's money, or log its keys, by accident.
func Withheld(name string) bool {
	name = strings.ToUpper(name)
	for _, ending := range []string{
		"_API_KEY", "_API_KEYS", "_APIKEY", "_API_TOKEN", "_API_SECRET",
		"_ACCESS_TOKEN", "_AUTH_TOKEN", "_SESSION_TOKEN", "_SECRET_ACCESS_KEY", "_SECRET_KEY",
	} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	switch name {
	case "API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_BEARER_TOKEN_BEDROCK":
		return true
	}
	return false
}

// An environment is what processes are started with.
type environment struct {
	vars     []string
	withheld []string          // names of variables that were left out
	secrets  map[string]string // keys that were handed on, by name
}

func newEnvironment(vars, allowed []string, dir string) environment {
	e := environment{secrets: map[string]string{}}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		switch secret := Withheld(name); {
		case secret && !slices.Contains(allowed, name):
			e.withheld = append(e.withheld, name)
			continue
		case secret && len(value) >= 8: // less would tear up ordinary words
			e.secrets[name] = value
		}
		e.vars = append(e.vars, v)
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		e.vars = append(e.vars, "PWD="+absolute) // the last one counts
	}
	return e
}

// clean removes the keys a process was given from what it wrote.
func (e *environment) clean(text string) string {
	for name, key := range e.secrets {
		text = strings.ReplaceAll(text, key, "["+name+"]")
	}
	return text
}

// missed names a variable that was left out and that a process speaks of.
func (e *environment) missed(text string) string {
	for _, name := range e.withheld {
		if strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

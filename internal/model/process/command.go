package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

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
	if why, ok := errors.AsType[*exec.Error](err); ok {
		err = why.Err
	}
	if bare {
		return "", fmt.Errorf("program %q: %w: install it, or write ./%s for a program in %s", name, err, name, shownDir(dir))
	}
	return "", fmt.Errorf("program %q (relative paths begin in %s): %w", name, shownDir(dir), err)
}

// script matches a file that an interpreter runs, by its name.
var script = regexp.MustCompile(`(?i)^[^:]+\.(py|js|mjs|cjs|ts|rb|pl|php|sh|bash|r|jl|lua)$`)

// checkScript refuses a command whose first argument is a script that does not exist,
// as in python3 answer.py: every call of it would fail. After a flag that may take a
// word, such as -m or -c, a word can be anything.
func checkScript(words []string, dir string) error {
	if len(words) < 2 || !script.MatchString(words[1]) {
		return nil
	}
	path := words[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("script %q does not exist (relative paths begin in %s)", words[1], shownDir(dir))
	}
	return nil
}

func shownDir(dir string) string {
	if dir == "" {
		return "the current folder"
	}
	return dir
}

// passed are the variables that every command gets: what programs need to start,
// to find the user's files and to write text. All others stay here, so that a
// pipeline cannot spend a study's money, or log its keys, by accident. No list of
// the names of keys would be complete: a study may call its key anything.
var passed = []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ"}

// passedOnWindows are what programs need there as well; names have no case.
var passedOnWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// passes reports whether a variable is passed to commands; more are the names in
// the study.
func passes(name string, more []string, windows bool) bool {
	if windows {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || windows && slices.Contains(passedOnWindows, name) ||
		slices.ContainsFunc(more, func(m string) bool { return m == name || windows && strings.EqualFold(m, name) })
}

// An environment is what processes are started with.
type environment struct {
	vars     []string
	withheld map[string]bool // names of variables that were left out
}

func newEnvironment(vars []string, dir string, more []string) environment {
	e := environment{withheld: map[string]bool{}}
	for _, v := range vars {
		if name, _, _ := strings.Cut(v, "="); passes(name, more, runtime.GOOS == "windows") {
			e.vars = append(e.vars, v)
		} else {
			e.withheld[name] = true
		}
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		e.vars = append(e.vars, "PWD="+absolute) // the last one counts
	}
	return e
}

// variable matches what may be the name of an environment variable. Shorter ones
// and those in small letters are mostly words.
var variable = regexp.MustCompile(`\b[A-Z_][A-Z0-9_]{3,}\b`)

// missed names a variable that was left out and that a process speaks of.
func (e *environment) missed(text string) string {
	for _, name := range variable.FindAllString(text, -1) {
		if e.withheld[name] {
			return name
		}
	}
	return ""
}

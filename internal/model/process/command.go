package process

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
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
// error outside quotes: | & ; < > ( ) $ ` * and ~ at the start of a word. The
// libraries for shell words take the backslashes out of Windows paths, and pass
// those characters on or stop at them without a word.
func Split(command string) ([]string, error) {
	words, err := split(command)
	if err == nil && (len(words) == 0 || words[0] == "") {
		err = errors.New("no program")
	}
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	return words, nil
}

// space separates words.
const space = " \t\r\n"

func split(command string) (words []string, err error) {
	if strings.IndexByte(command, 0) >= 0 {
		return nil, errors.New("contains a NUL byte")
	}
	var word []byte
	begun := false // a word may be begun and empty: ""
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(command) && strings.IndexByte(`'"\`+space, command[i+1]) >= 0:
			i++
			word, begun = append(word, command[i]), true
		case c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case strings.IndexByte(space, c) >= 0:
			if begun {
				words = append(words, string(word))
			}
			word, begun = nil, false
		case strings.IndexByte("|&;<>()$`*", c) >= 0, c == '~' && !begun:
			return nil, fmt.Errorf("%q needs a shell, which is not used: put the command in a script, or quote the character if it is literal", string(c))
		default:
			word, begun = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("missing closing %c", quote)
	}
	if begun {
		words = append(words, string(word))
	}
	return words, nil
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

// keyNames match names of variables that hold the keys of model providers.
var keyNames = regexp.MustCompile(`(?i)(^|_)API_KEY$|_(API_KEYS|APIKEY|API_TOKEN|API_SECRET|ACCESS_TOKEN|AUTH_TOKEN|SESSION_TOKEN|SECRET_ACCESS_KEY|SECRET_KEY)$` +
	`|^(HF_TOKEN|HUGGING_FACE_HUB_TOKEN|GOOGLE_APPLICATION_CREDENTIALS|AWS_BEARER_TOKEN_BEDROCK)$`)

// withheld reports whether a variable of this name is kept from commands: a
// pipeline should not be able to spend a study's money, or log its keys, by
// accident.
func withheld(name string) bool { return keyNames.MatchString(name) }

// An environment is what processes are started with.
type environment struct {
	vars     []string
	withheld []string // names of variables that were left out
}

func newEnvironment(vars []string, dir string) environment {
	var e environment
	for _, v := range vars {
		if name, _, _ := strings.Cut(v, "="); withheld(name) {
			e.withheld = append(e.withheld, name)
		} else {
			e.vars = append(e.vars, v)
		}
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		e.vars = append(e.vars, "PWD="+absolute) // the last one counts
	}
	return e
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

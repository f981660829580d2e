package text

import (
	"errors"
	"fmt"
	"strings"
)

// SplitCommand cuts a command into words as a shell would cut it, without being one.
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
func SplitCommand(command string) ([]string, error) {
	words, err := splitWords(command)
	if err == nil && (len(words) == 0 || words[0] == "") {
		err = errors.New("no program")
	}
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	return words, nil
}

// commandSpace separates words.
const commandSpace = " \t\r\n"

func splitWords(command string) (words []string, err error) {
	if strings.IndexByte(command, 0) >= 0 {
		return nil, errors.New("contains a NUL byte")
	}
	var word []byte
	begun := false // a word may be begun and empty: ""
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(command) && strings.IndexByte(`'"\`+commandSpace, command[i+1]) >= 0:
			i++
			word, begun = append(word, command[i]), true
		case c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case strings.IndexByte(commandSpace, c) >= 0:
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

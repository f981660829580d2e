package kit

import (
	"flag"
	"fmt"
	"io"
)

// A Command is a command of one suite: scruple SUITE NAME ARGUMENTS.
type Command struct {
	Name  string
	Args  []string // names of the arguments, all required
	Short string   // one line, without a full stop
	Long  string
	// New declares the flags and returns the function to run after parsing. The
	// result is printed as text or JSON; the notes of a [Noter], which are part of
	// its text, go to standard error beside JSON.
	New func(flags *flag.FlagSet) func(c Call) (fmt.Stringer, error)
}

// A Call is one call of a command.
type Call struct {
	Args []string
	// Open opens a file for reading; - is standard input.
	Open func(file string) (io.ReadCloser, error)
}

// A Noter is a result with notes that are not part of its JSON.
type Noter interface{ Notes() []string }

// Written is the result of a command that writes files.
type Written struct {
	Files []string `json:"files"`
	Notes []string `json:"notes"`
}

// String has a line for each note and each file.
func (w Written) String() string {
	var s string
	for _, n := range w.Notes {
		s += "note: " + n + "\n"
	}
	for _, f := range w.Files {
		s += "wrote " + f + "\n"
	}
	return s
}

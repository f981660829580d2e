package kit

import (
	"flag"
	"fmt"
)

// A Command is a command of one suite: scruple NAME SUITE ARGUMENTS.
type Command struct {
	Name  string
	Args  []string // names of the arguments, all required
	Short string   // one line, without a full stop
	Long  string
	// New declares the flags and returns the function to run after parsing. The
	// result is printed as text or JSON.
	New func(flags *flag.FlagSet) func(args []string) (fmt.Stringer, error)
}

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

package kit

import (
	"fmt"
	"strconv"
)

// An Import converts a published data set into data of the suite: scruple
// import NAME FILE.
type Import struct {
	Name string
	Doc  string // the content of FILE, for help
	// Convert returns the data to write and a report of what was kept, changed
	// and dropped, which is printed as text or JSON.
	Convert func(file string, o ImportOptions) (data []byte, report fmt.Stringer, err error)
	// Study makes a study of recorded results instead: the files are arms of it. The paths in
	// the study are relative to output, the file that it is written to.
	Study func(files []string, output string) (data []byte, report fmt.Stringer, err error)
	// Folder writes a study of the results of another tool into a folder.
	Folder func(files []string, dir string) (report fmt.Stringer, err error)
}

// ImportOptions are the flags of import. A zero is the default of the format.
type ImportOptions struct {
	Limit   int // most documents
	MaxText int // most bytes of text of a document
}

// ContentID is the id of an item without one: a hash of its input, so that an item inserted
// before it changes nothing. Items of an equal input are numbered.
func ContentID(taken map[string]int, prefix string, input ...string) string {
	return UniqueID(taken, prefix+"-"+Hash(input...).String()[:8])
}

// UniqueID returns an id that no earlier call with the same taken returned: the id itself,
// or the id with a number.
func UniqueID(taken map[string]int, id string) string {
	unique := id
	for taken[unique] > 0 {
		taken[id]++
		unique = id + "-" + strconv.Itoa(taken[id])
	}
	taken[unique]++
	return unique
}

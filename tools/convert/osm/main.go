package osm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Main writes the items of a file of restaurants as JSON Lines, and to stderr
// what could not be read and what whoever passes them on must say.
func Main(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: go run ./tools/convert osm RESTAURANTS.json > items.jsonl")
		return 2
	}
	if err := convertFile(args[0], stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "convert osm: %v\n", err)
		return 2
	}
	return 0
}

func convertFile(path string, stdout, stderr io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading restaurants: %w", err)
	}
	items, notes, err := Convert(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w := bufio.NewWriter(stdout)
	for _, item := range items {
		line, err := item.Marshal()
		if err != nil {
			return err
		}
		_, _ = w.Write(append(line, '\n')) // Flush says what went wrong
	}
	for _, n := range notes {
		fmt.Fprintf(stderr, "note: %v\n", n)
	}
	_, err = fmt.Fprintln(stderr, Attribution)
	return errors.Join(w.Flush(), err)
}

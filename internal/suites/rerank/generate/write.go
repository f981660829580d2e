package generate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// The files of a data set.
const (
	ItemsFile    = "items.jsonl"
	ReviewsFile  = "reviews.jsonl"
	UsersFile    = "users.jsonl"
	RequestsFile = "requests.jsonl"
	ReadmeFile   = "README.md"
)

// Write writes a data set into a folder, which is made if it is not there, and
// lists the files. A file that is there already is an error: nothing is
// overwritten, and nothing written.
func (d *Data) Write(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("making folder: %w", err)
	}
	files := []struct {
		name  string
		write func(w io.Writer) error
	}{
		{ItemsFile, func(w io.Writer) error { return writeLines(w, d.Catalog.Items, (*catalog.Item).Marshal) }},
		{ReviewsFile, func(w io.Writer) error { return writeLines(w, d.reviews(), (*catalog.Review).Marshal) }},
		{UsersFile, func(w io.Writer) error { return writeLines(w, d.users(), (*catalog.User).Marshal) }},
		{RequestsFile, func(w io.Writer) error { return writeLines(w, d.Requests, request.Marshal) }},
		{ReadmeFile, d.writeReadme},
	}
	for _, f := range files {
		if path := filepath.Join(dir, f.name); exists(path) {
			return nil, fmt.Errorf("writing data: %s is there already, and nothing is overwritten: name another folder", path)
		}
	}
	var paths []string
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := writeFile(path, f.write); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// exists reports that something is there, be it a link to nothing.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("writing data: %w", err)
	}
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func writeLines[T any](w io.Writer, list []T, marshal func(T) ([]byte, error)) error {
	for _, x := range list {
		line, err := marshal(x)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (d *Data) reviews() (list []*catalog.Review) {
	for _, i := range d.Catalog.Items {
		for k := range i.Reviews {
			list = append(list, &i.Reviews[k])
		}
	}
	return list
}

func (d *Data) users() (list []*catalog.User) {
	for _, id := range slices.Sorted(maps.Keys(d.Catalog.Users)) {
		list = append(list, d.Catalog.Users[id])
	}
	return list
}

// writeReadme says what is real and what is not.
func (d *Data) writeReadme(w io.Writer) error {
	_, err := fmt.Fprintf(w, `# A data set for reranking

%s
%d items, %d reviews, %d people and %d requests; seed %d.

Made up by Scruple: %s. Nobody wrote these reviews, and nobody of these names
is meant. That each request is satisfied by exactly one item was checked.
%s`, d.origin(), len(d.Catalog.Items), len(d.reviews()), len(d.Catalog.Users), len(d.Requests), d.seed, d.invented(), d.repeats())
	return err
}

func (d *Data) origin() string {
	if d.source == "" {
		return "Nothing here is real."
	}
	return "The items are those of " + d.source + ", under the licence of that file."
}

// repeats says how many requests repeat another, if any does.
func (d *Data) repeats() string {
	if d.Repeated == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the requests repeat another: for more that differ, make more reviews or items.\n", d.Repeated)
}

func (d *Data) invented() string {
	if d.source == "" {
		return "items, reviews, people, friendships and requests"
	}
	return "reviews, people, friendships and requests"
}

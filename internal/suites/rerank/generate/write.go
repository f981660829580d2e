package generate

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/suites/kit"
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

// Files are the data set's, as they are written.
func (d *Data) Files() []kit.File {
	return []kit.File{
		{Path: ItemsFile, Write: func(w io.Writer) error { return writeLines(w, d.Catalog.Items, (*catalog.Item).Marshal) }},
		{Path: ReviewsFile, Write: func(w io.Writer) error { return writeLines(w, d.reviews(), (*catalog.Review).Marshal) }},
		{Path: UsersFile, Write: func(w io.Writer) error { return writeLines(w, d.users(), (*catalog.User).Marshal) }},
		{Path: RequestsFile, Write: func(w io.Writer) error { return writeLines(w, d.Requests, request.Marshal) }},
		{Path: ReadmeFile, Write: d.writeReadme},
	}
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

// Package recorded records HTTP exchanges in a cassette (a YAML file of go-vcr) and
// replays them. A study with recordings needs no key and no network, and has
// reproducible answers.
//
// Exchanges are matched by path and body, ignoring the order of keys. Repeated
// requests (replicates, retries) are replayed in recorded order, each once:
// replicates never share an answer. A resumed run starts again with the first
// recording of each request.
//
// The package must not know any provider: the client of the recorded format
// runs on top of a [Cassette] as on the network.
package recorded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// A Cassette replays a file of exchanges. It is an [http.RoundTripper], safe for
// concurrent use.
type Cassette struct {
	file   string
	format string
	base   string

	mu      sync.Mutex
	waiting map[string][]*cassette.Interaction // not yet replayed, by key
	played  map[string]int
}

// Open reads a cassette. All it holds must be in one wire format.
func Open(file string) (*Cassette, error) {
	raw, err := cassette.LoadWithFS(file, onDisk{file})
	if err != nil {
		return nil, fmt.Errorf("reading cassette %s: %w", file, err)
	}
	c := &Cassette{file: file, waiting: map[string][]*cassette.Interaction{}, played: map[string]int{}}
	for n, i := range raw.Interactions {
		if err := c.add(i); err != nil {
			return nil, fmt.Errorf("cassette %s, exchange %d: %w", file, n, err)
		}
	}
	if c.format == "" {
		return nil, fmt.Errorf("cassette %s: no exchanges", file)
	}
	return c, nil
}

func (c *Cassette) add(i *cassette.Interaction) error {
	if i == nil {
		return errors.New("is empty")
	}
	u, err := url.Parse(i.Request.URL)
	if err != nil {
		return err
	}
	format, base, err := formatOf(*u)
	switch {
	case err != nil:
		return err
	case c.format == "":
		c.format, c.base = format, base
	case format != c.format || base != c.base:
		return fmt.Errorf("is in format %s at %s, but earlier ones are in %s at %s; use one endpoint per cassette", format, base, c.format, c.base)
	}
	key := keyOf(u.Path, []byte(i.Request.Body))
	c.waiting[key] = append(c.waiting[key], i)
	return nil
}

// Format is the wire format of the recordings: openai, openai_responses,
// anthropic or google.
func (c *Cassette) Format() string { return c.format }

// BaseURL is the endpoint that was recorded.
func (c *Cassette) BaseURL() string { return c.base }

// formatOf tells format and base URL by the path of a request.
func formatOf(u url.URL) (format, base string, err error) {
	if u.Host == "" {
		return "", "", fmt.Errorf("its URL %q has no host", u.String())
	}
	u.RawQuery, u.Fragment, u.RawPath, u.User = "", "", "", nil
	for _, f := range []struct{ ending, format string }{
		{"/chat/completions", "openai"}, {"/responses", "openai_responses"}, {"/v1/messages", "anthropic"}, {"/messages", "anthropic"},
	} {
		if path, ok := strings.CutSuffix(u.Path, f.ending); ok {
			u.Path = path
			return f.format, u.String(), nil
		}
	}
	if path, _, ok := strings.Cut(u.Path, "/models/"); ok && strings.HasSuffix(u.Path, ":generateContent") {
		u.Path = path
		return "google", u.String(), nil
	}
	return "", "", fmt.Errorf("%s is not in one of the formats openai, openai_responses, anthropic, google", &u)
}

// keyOf identifies a request by its path and its body, ignoring the order of keys.
func keyOf(path string, body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err == nil {
		if sorted, err := json.Marshal(v); err == nil {
			body = sorted
		}
	}
	return path + "\n" + string(body)
}

// RoundTrip answers from the cassette.
func (c *Cassette) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	i, err := c.take(keyOf(req.URL.Path, body), asked(req.Context()))
	if err != nil {
		return nil, err
	}
	resp, err := i.GetHTTPResponse()
	if err != nil {
		return nil, err
	}
	resp.Request = req
	return resp, nil
}

func (c *Cassette) take(key, what string) (*cassette.Interaction, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.waiting[key]; len(list) > 0 {
		c.waiting[key] = list[1:]
		c.played[key]++
		return list[0], nil
	}
	times := "is not in"
	if n := c.played[key]; n > 0 {
		times = fmt.Sprintf("occurs only %d times in", n)
	}
	return nil, &model.Error{
		Kind:    eval.ErrBadRequest,
		Message: fmt.Sprintf("%s %s cassette %s", what, times, c.file),
		Remedy:  "record it: run the same study with the model's real provider and --record FILE; any change of prompts, parameters, items or replicates needs a new recording",
	}
}

type askedKey struct{}

// asked describes the request that a context belongs to.
func asked(ctx context.Context) string {
	r, ok := ctx.Value(askedKey{}).(*eval.Request)
	if !ok {
		return "the request"
	}
	about := ""
	if r.Item != "" {
		about = " about item " + r.Item
	}
	return fmt.Sprintf("the request to model %s (%s)%s, replicate %d,", r.Model, r.Name, about, r.Replicate)
}

// A Client is a client on top of a cassette. It implements [model.Client]; all
// it adds is that a request which is not in the cassette is named in the error.
type Client struct{ inner model.Client }

var _ model.Client = (*Client)(nil)

// NewClient decorates a client whose transport is a cassette.
func NewClient(inner model.Client) *Client { return &Client{inner} }

// Complete implements [model.Client].
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	return c.inner.Complete(context.WithValue(ctx, askedKey{}, r), r)
}

// onDisk is one file, whatever name go-vcr would give it.
type onDisk struct{ path string }

// ReadFile reads the file without an exchange of which only a part was written,
// because the recording program was killed.
func (f onDisk) ReadFile(string) ([]byte, error) {
	data, err := os.ReadFile(f.path)
	if end := bytes.LastIndexByte(data, '\n') + 1; bytes.HasPrefix(data[end:], []byte(entry)[:min(len(entry), len(data)-end)]) {
		data = data[:end]
	}
	return data, err
}

func (f onDisk) WriteFile(string, []byte) error { panic("recorded: go-vcr only reads") }

func (f onDisk) IsFileExists(string) bool {
	_, err := os.Stat(f.path)
	return err == nil
}

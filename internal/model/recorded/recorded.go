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
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/scruple-eval/scruple/internal/disk"
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

// Open reads the exchanges of a cassette with the model of a name, all of which must be with
// one endpoint in one wire format.
func Open(file, name string) (*Cassette, error) {
	raw, err := cassette.LoadWithFS(file, onDisk{file})
	if err != nil {
		return nil, fmt.Errorf("reading cassette %s: %w", file, err)
	}
	c := &Cassette{file: file, waiting: map[string][]*cassette.Interaction{}, played: map[string]int{}}
	for n, i := range raw.Interactions {
		if err := c.add(i, strings.TrimPrefix(name, "models/")); err != nil {
			return nil, fmt.Errorf("cassette %s, exchange %d: %w", file, n, err)
		}
	}
	if c.format == "" {
		return nil, fmt.Errorf("cassette %s: no exchanges with model %q", file, name)
	}
	return c, nil
}

func (c *Cassette) add(i *cassette.Interaction, name string) error {
	if i == nil {
		return errors.New("is empty")
	}
	u, err := url.Parse(i.Request.URL)
	if err != nil {
		return err
	}
	if other := modelOf(u.Path, []byte(i.Request.Body)); other != "" && other != name {
		return nil
	}
	format, base, err := formatOf(*u)
	switch {
	case err != nil:
		return err
	case c.format == "":
		c.format, c.base = format, base
	case format != c.format || base != c.base:
		return fmt.Errorf("is in format %s at %s, but earlier ones are in %s at %s; use one endpoint per model and cassette", format, base, c.format, c.base)
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
	if parts := ofGoogle.FindStringSubmatch(u.Path); parts != nil {
		u.Path = parts[1]
		return "google", u.String(), nil
	}
	return "", "", fmt.Errorf("%s is not in one of the formats openai, openai_responses, anthropic, google", &u)
}

// ofGoogle matches the path of a request to Google: the base and the model.
var ofGoogle = regexp.MustCompile(`^(.*)/(?:models/|(tunedModels/))([^/]+):generateContent$`)

// modelOf is the name of the model that a request asks, "" if it names none.
func modelOf(path string, body []byte) string {
	if parts := ofGoogle.FindStringSubmatch(path); parts != nil {
		return parts[2] + parts[3]
	}
	var asks struct {
		Model model.Word `json:"model"`
	}
	_ = json.Unmarshal(body, &asks)
	return strings.TrimPrefix(string(asks.Model), "models/")
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
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
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

// bodyOf reads the body of a request to its end.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
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

// A Recorder sends requests on and appends each exchange to its cassette before
// it returns the answer, so a program that is killed has recorded every answer
// it used. It is an [http.RoundTripper], safe for concurrent use.
type Recorder struct {
	next http.RoundTripper
	keys model.Keys

	mu   sync.Mutex
	file *os.File // nil until Start
	n    int      // exchanges in the cassette
	err  error    // sticky: nothing is sent that cannot be recorded
}

// NewRecorder returns a recorder without a cassette. The cassette will hold no
// keys: headers and query parameters that carry them are left out, and the given
// secrets are replaced wherever they stand.
func NewRecorder(next http.RoundTripper, secrets ...string) *Recorder {
	return &Recorder{next: next, keys: model.NewKeys(secrets...), err: errors.New("recording has not started")}
}

// header begins a cassette. Each exchange is one line after it: an entry of the
// list in YAML's notation of JSON, so that an incomplete one shows.
const header = "---\nversion: 2\ninteractions:\n"

const entry = "  - {"

// Start creates the cassette, or with resume continues an existing one. Without
// resume, a file that has exchanges is not written over, as recordings cost money.
func (r *Recorder) Start(file string, resume bool) error {
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("recording to %s: no such folder", file)
	}
	err := r.start(file, resume)
	if err != nil {
		err = fmt.Errorf("recording to %s: %w", file, err)
	}
	return err
}

func (r *Recorder) start(file string, resume bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var known []*cassette.Interaction
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !resume && info.Size() != int64(len(header)): // else a process was killed before its first exchange
		return errors.New("the file exists; remove it or choose another")
	case info.Size() > 0:
		old, err := cassette.LoadWithFS(file, onDisk{file})
		if err != nil {
			return err
		}
		known = old.Interactions
	}
	// What is known is written once more: it may end in half an exchange, or
	// have the form of another program.
	var b bytes.Buffer
	b.WriteString(header)
	for _, i := range known {
		line, err := lineOf(i)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	if err := (disk.File{Path: file, Mode: 0o600}).Write(disk.Bytes(b.Bytes())); err != nil {
		return err
	}
	r.file, r.err = nil, nil
	if r.file, err = os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	r.n = len(known)
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	sent, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	begun := time.Now()
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(io.LimitReader(resp.Body, model.MaxBody+1))
	if err != nil || len(got) > model.MaxBody {
		// No answer for the client either: it reads the same error or too much.
		resp.Body = rest{io.MultiReader(bytes.NewReader(got), failing{err}, resp.Body), resp.Body}
		return resp, nil
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(got))
	return resp, r.add(&cassette.Interaction{
		Request: cassette.Request{Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor, ContentLength: req.ContentLength,
			Host: req.URL.Host, Body: string(sent), Headers: req.Header, URL: req.URL.String(), Method: req.Method},
		Response: cassette.Response{Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor, ContentLength: int64(len(got)),
			Uncompressed: resp.Uncompressed, Body: string(got), Headers: resp.Header, Status: resp.Status, Code: resp.StatusCode, Duration: time.Since(begun)},
	})
}

// rest is a body of which a part was read.
type rest struct {
	io.Reader
	io.Closer
}

// failing is a reader that has ended, with an error if there was one.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// add appends an exchange and returns when it is on disk.
func (r *Recorder) add(i *cassette.Interaction) error {
	if err := clean(i, r.keys); err != nil {
		return err
	}
	file, err := r.write(i)
	if err == nil {
		err = file.Sync() // outside the lock: the system joins those of many
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = fmt.Errorf("recording: %w", err)
	}
	return err
}

func (r *Recorder) write(i *cassette.Interaction) (*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	i.ID = r.n
	line, err := lineOf(i)
	if err == nil {
		_, err = r.file.Write(line)
	}
	r.n++
	return r.file, err
}

// lineOf writes an exchange as one line of a cassette. The names are those of
// go-vcr.
func lineOf(i *cassette.Interaction) ([]byte, error) {
	q, a := i.Request, i.Response
	type fields map[string]any
	line, err := eval.EncodeJSON(fields{
		"id": i.ID,
		"request": fields{"proto": q.Proto, "proto_major": q.ProtoMajor, "proto_minor": q.ProtoMinor, "content_length": q.ContentLength,
			"host": q.Host, "body": q.Body, "headers": q.Headers, "url": q.URL, "method": q.Method},
		"response": fields{"proto": a.Proto, "proto_major": a.ProtoMajor, "proto_minor": a.ProtoMinor, "content_length": a.ContentLength,
			"uncompressed": a.Uncompressed, "body": a.Body, "headers": a.Headers, "status": a.Status, "code": a.Code, "duration": a.Duration.String()},
	})
	return []byte(strings.TrimSuffix(entry, "{") + notInYAML.Replace(string(line)) + "\n"), err
}

// notInYAML are characters that a JSON string may have as they are, and that YAML folds or refuses.
var notInYAML = strings.NewReplacer("\u0085", `\u0085`, "\ufffe", `\ufffe`, "\uffff", `\uffff`)

// Close closes the cassette. It returns the error that ended the recording, if
// any.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.err, r.file.Close())
	r.file, r.err = nil, errors.New("recording has ended")
	return err
}

// keyParameters are query parameters that carry keys.
var keyParameters = []string{"key", "api_key", "api-key", "apikey", "token", "access_token"}

// kept are the headers a cassette keeps: those that decide how an answer is
// read. Others carry keys, cookies, organisations or the recorder's machine.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id"}

// clean takes secrets out of an exchange before it is kept. The headers belong
// to the request and the answer under way, so they are replaced, not changed.
func clean(i *cassette.Interaction, keys model.Keys) error {
	u, err := url.Parse(i.Request.URL)
	if err != nil {
		return err
	}
	query := u.Query()
	for _, name := range keyParameters {
		query.Del(name)
	}
	u.RawQuery, u.User = query.Encode(), nil
	i.Request.URL = u.String()
	without := func(text string) string {
		for _, key := range keys {
			text = key.Without(text)
		}
		return text
	}
	i.Request.Headers, i.Response.Headers = keep(i.Request.Headers, without), keep(i.Response.Headers, without)
	for _, text := range []*string{&i.Request.URL, &i.Request.Body, &i.Response.Body, &i.Response.Status} {
		*text = without(*text)
	}
	return nil
}

func keep(h http.Header, without func(string) string) http.Header {
	out := http.Header{}
	for _, name := range kept {
		for _, v := range h.Values(name) {
			out.Add(name, without(v))
		}
	}
	return out
}

package recorded

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)

// A Recorder sends requests on and keeps what comes back. It is an
// [http.RoundTripper], safe for concurrent use. The cassette is written by
// Close; a program that dies before has recorded nothing.
type Recorder struct{ vcr *recorder.Recorder }

// Record starts a cassette. It holds no keys: headers and query parameters that
// carry them are left out, and the given secrets are replaced wherever they
// stand. A file that exists is not written over, as recordings cost money.
func Record(file string, next http.RoundTripper, secrets ...string) (*Recorder, error) {
	if _, err := os.Stat(file); err == nil {
		return nil, fmt.Errorf("recording to %s: the file exists; remove it or choose another", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("recording to %s: no such folder", file)
	}
	vcr, err := recorder.New(file,
		recorder.WithMode(recorder.ModeRecordOnly),
		recorder.WithRealTransport(next),
		recorder.WithFS(onDisk{file}),
		recorder.WithSkipRequestLatency(true),
		recorder.WithHook(func(i *cassette.Interaction) error { return clean(i, secrets) }, recorder.AfterCaptureHook),
	)
	if err != nil {
		return nil, fmt.Errorf("recording to %s: %w", file, err)
	}
	return &Recorder{vcr}, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) { return r.vcr.RoundTrip(req) }

// Close writes the cassette.
func (r *Recorder) Close() error { return r.vcr.Stop() }

// keyParameters are query parameters that carry keys.
var keyParameters = []string{"key", "api_key", "api-key", "apikey", "token", "access_token"}

// kept are the headers a cassette keeps: those that decide how an answer is
// read. Others carry keys, cookies, organisations or the recorder's machine.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id"}

// clean takes secrets out of an exchange before it is kept. The headers belong
// to the request and the answer under way, so they are replaced, not changed.
func clean(i *cassette.Interaction, secrets []string) error {
	i.Request.Headers, i.Response.Headers = keep(i.Request.Headers), keep(i.Response.Headers)
	i.Request.Form = nil // what is in the URL, once more
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
	for _, text := range []*string{&i.Request.URL, &i.Request.Body, &i.Response.Body} {
		for _, s := range secrets {
			if s != "" {
				*text = strings.ReplaceAll(*text, s, "[key]")
			}
		}
	}
	return nil
}

func keep(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range kept {
		if values := h.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

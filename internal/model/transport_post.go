package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// MaxBody is the limit for answers of models. The longest real ones have a few
// hundred kilobytes.
const MaxBody = 32 << 20

// ErrTooLarge is the error of an answer above the limit.
var ErrTooLarge = errors.New("the answer is too large")

// An Exchange is the answer to one HTTP request, read to its end.
type Exchange struct {
	Status int // 0 if there was no answer
	Header http.Header
	Body   []byte
	Err    error // why there is no complete answer
}

// Post sends body to address once and reads the whole answer, of at most limit
// bytes. It sends nothing twice: net/http repeats a POST only if no byte of it
// has left.
//
// header is not modified, so that requests can share it. An error has no URL
// in its text, since a URL may hold a key.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte, limit int64) *Exchange {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return &Exchange{Err: withoutURL(err)}
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return &Exchange{Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	x := &Exchange{Status: resp.StatusCode, Header: resp.Header}
	x.Body, x.Err = readBody(resp, limit)
	return x
}

// withoutURL unwraps what net/http puts around an error.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func readBody(resp *http.Response, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead) // the last read, which finds the end, needs room too
	}
	_, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = ErrTooLarge
	}
	return b.Bytes(), err
}

// RequestID is the provider's id of the request, from the headers.
func (x *Exchange) RequestID() string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := x.Header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

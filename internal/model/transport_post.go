package model

import (
	"bytes"
	"cmp"
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

// Ordinary is the size above which an answer needs a [Place].
const Ordinary = 1 << 20

var places = make(chan struct{}, 4)

// A Place is the right to read a large answer. Few answers exceed a megabyte, and a
// server or process that sends nothing else must not fill the memory: of larger ones,
// as many are read at a time as there are places. The others wait in the network, or in
// the pipe of their process. Leave the place when the answer has been decoded.
type Place struct{ taken bool }

// Take waits for a place.
func (p *Place) Take(ctx context.Context) error {
	if p.taken {
		return nil
	}
	select {
	case places <- struct{}{}:
		p.taken = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave frees the place, if one was taken.
func (p *Place) Leave() {
	if p.taken {
		p.taken = false
		<-places
	}
}

// An Exchange is the answer to one HTTP request, read to its end.
type Exchange struct {
	Status int // 0 if there was no answer
	Header http.Header
	Body   []byte // of an answer above the limit, its beginning
	Err    error  // why there is no complete answer

	place Place // if it is large
}

// beginning is how much is kept of an answer above the limit, for messages.
const beginning = 1 << 10

// Close gives up the body.
func (x *Exchange) Close() {
	x.place.Leave()
	x.Body = nil
}

// Post sends body to address once and reads the whole answer, of at most limit
// bytes. Close the exchange when the answer has been decoded. Post sends nothing twice: net/http repeats a POST only if no byte of it
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
	if x.Err = x.read(ctx, resp, limit); x.Err != nil {
		x.place.Leave()
	}
	return x
}

// withoutURL unwraps what net/http puts around an error.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

func (x *Exchange) read(ctx context.Context, resp *http.Response, limit int64) error {
	var b bytes.Buffer
	size := resp.ContentLength
	if size > limit {
		_, err := b.ReadFrom(io.LimitReader(resp.Body, beginning))
		x.Body = b.Bytes()
		return cmp.Or(err, ErrTooLarge)
	}
	if 0 < size && size <= Ordinary {
		b.Grow(int(size) + bytes.MinRead) // the last read, which finds the end, needs room too
	}
	_, err := b.ReadFrom(io.LimitReader(resp.Body, min(Ordinary, limit)+1))
	if err == nil && b.Len() > Ordinary {
		if err := x.place.Take(ctx); err != nil {
			return err
		}
		if size > 0 {
			b.Grow(int(size) - b.Len() + bytes.MinRead)
		}
		_, err = b.ReadFrom(io.LimitReader(resp.Body, limit+1-int64(b.Len())))
	}
	if err == nil && int64(b.Len()) > limit {
		x.Body = bytes.Clone(b.Bytes()[:min(beginning, b.Len())])
		return ErrTooLarge
	}
	x.Body = b.Bytes()
	return err
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

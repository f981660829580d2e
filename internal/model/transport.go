package model

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NewTransport returns the transport that all clients of a run share: many
// calls at once to few hosts. concurrency is the most calls in flight; as many
// idle connections are kept for each host, so that none is opened twice.
// Answers are not compressed: they are small, and inflating costs more than
// reading. Proxies are taken from the environment.
func NewTransport(concurrency int) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: max(concurrency, 2),
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true,
		WriteBufferSize:     8 << 10,
	}
}

// An Endpoint is where a client sends its requests.
type Endpoint struct {
	BaseURL string // "" is the provider's own
	APIKey  string // "" sends none: servers on loopback need none
	KeyEnv  string // the variable the key comes from, for remedies
	// HTTP is the client to send with. Nil makes one.
	HTTP *http.Client
}

// Base is the endpoint's base URL, checked, without a slash or any of the
// given path endings at its end; own is used where the endpoint names none.
func (e *Endpoint) Base(own string, endings ...string) (string, error) {
	base := cmp.Or(e.BaseURL, own)
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", fmt.Errorf("base_url %q: not an http or https URL, such as %s", base, own)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("base_url %q: a query or fragment would be lost; use the URL up to the API version, such as %s", base, own)
	}
	base = strings.TrimRight(base, "/")
	for _, ending := range endings {
		if short, ok := strings.CutSuffix(base, ending); ok {
			return short, nil
		}
	}
	return base, nil
}

// client returns the endpoint's HTTP client, which follows no redirect: a
// request and its key go to the endpoint or nowhere.
func (e *Endpoint) client() *http.Client {
	c := http.Client{}
	if e.HTTP != nil {
		c = *e.HTTP
	}
	if c.Transport == nil {
		c.Transport = NewTransport(64)
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Package serve runs the local web servers of Scruple. It decides who may talk to a
// server, and leaves what is said to the handler.
//
// Its contract:
//
//   - A server listens on 127.0.0.1 and ::1. Another address needs a certificate, or the
//     name of a reverse proxy in front; else Open refuses, and says how to use ssh instead.
//   - The Host header of every request, with any method and path, must be exactly a name
//     of this server with its port: this stops DNS rebinding. An Origin header, if there
//     is one, must be exactly this server; "null" is not. http.CrossOriginProtection
//     stops cross-site writes that have no Origin. Violations get 403.
//   - The first segment of the path is a secret of 128 random bits. It is drawn at each
//     start, never stored unless the caller does so with Config.Kept, and compared in
//     constant time; any other path is 404. Each
//     holder of a server has their own secret, so the secret is also the identity: see
//     HolderOf. There are no cookies, because those are shared by all ports of a host.
//   - The handler sees the path without the secret. Links and redirects must be relative,
//     so that no page has to know it.
//   - Without Config.Writes, only GET and HEAD exist; others get 405. With it, requests
//     with other methods must have Content-Type application/json and at most 1 MB.
//   - Every response has a Content-Security-Policy that allows scripts, styles and
//     connections of this server only, nothing inline and no images, and is not cached
//     unless the handler sets Cache-Control.
//   - A request has 30 seconds to arrive and a response 60 to leave. A stream extends
//     its time with http.ResponseController.
//   - When the context of Serve ends, requests in flight are finished, for up to five
//     seconds. Streams must watch that context to end in time.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/errno"
)

// Config is what a server listens on and who may use it.
type Config struct {
	Listen      string   // an IP address; "" is loopback
	Port        int      // 0 takes a free one
	Cert, Key   string   // PEM files, for an address that is not loopback
	BehindProxy string   // HOST or HOST:PORT that browsers use to reach a proxy in front
	Holders     []string // names of those who get a secret each; none means one unnamed holder
	Writes      bool     // whether methods other than GET and HEAD exist
	Kept        *Kept    // keeps addresses from one start to the next; nil draws new ones

	Errors io.Writer // gets panics of handlers and connection errors; nil drops them
}

// Kept is what makes addresses. Open takes from it the port, if Config.Port is 0 and it is
// free, and the secrets of holders, and puts there those that it drew.
type Kept struct {
	Port    int               `json:"port"`
	Secrets map[string]string `json:"secrets"` // by holder
}

// MaxBody is the limit of a request body in bytes: more than a person marks and writes.
const MaxBody = 1 << 20

// A Server has its listeners open and its secrets drawn.
type Server struct {
	config    Config
	listeners []net.Listener
	hosts     []string // allowed values of the Host header; the first is that of URL
	scheme    string
	secrets   []secret
	tls       *tls.Config
}

// secretSize is the number of bytes of a secret.
const secretSize = 16

type secret struct {
	holder, text string
	hash         [sha256.Size]byte
}

// Open listens and draws the secrets.
func Open(c Config) (*Server, error) {
	s := &Server{config: c, scheme: "http"}
	address, err := c.address()
	if err != nil {
		return nil, err
	}
	if c.Port < 0 || c.Port > 65535 {
		return nil, fmt.Errorf("port %d: must be between 0 and 65535", c.Port)
	}
	var names []string // of this server, without port
	if c.Cert != "" {
		if names, err = s.certificate(); err != nil {
			return nil, err
		}
		s.scheme = "https"
	}
	kept := cmp.Or(c.Kept, &Kept{})
	s.config.Port = cmp.Or(c.Port, kept.Port)
	if err = s.listen(address); err != nil && s.config.Port != c.Port { // the port is taken now
		s.config.Port = c.Port
		err = s.listen(address)
	}
	if err != nil {
		return nil, err
	}
	port := s.listeners[0].Addr().(*net.TCPAddr).Port
	switch {
	case c.BehindProxy != "":
		s.scheme = "https"
		s.hosts = []string{c.BehindProxy}
	case len(names) > 0:
		s.hosts = withPort(names, port, 443)
	case address.IsValid():
		s.hosts = withPort([]string{address.String()}, port, 80)
	default:
		s.hosts = withPort([]string{"127.0.0.1", "localhost", "::1"}, port, 80)
	}
	holders := c.Holders
	if len(holders) == 0 {
		holders = []string{""}
	}
	kept.Port = cmp.Or(c.Port, kept.Port, port)
	if kept.Secrets == nil {
		kept.Secrets = map[string]string{}
	}
	for _, h := range holders {
		key, err := hex.DecodeString(kept.Secrets[h])
		if err != nil || len(key) != secretSize {
			key = make([]byte, secretSize)
			rand.Read(key) // never fails
		}
		text := hex.EncodeToString(key)
		kept.Secrets[h] = text
		s.secrets = append(s.secrets, secret{h, text, sha256.Sum256([]byte(text))})
	}
	return s, nil
}

// address returns the address to listen on; the zero one is loopback.
func (c Config) address() (netip.Addr, error) {
	if (c.Cert == "") != (c.Key == "") {
		return netip.Addr{}, errors.New("TLS needs two files, a certificate and its key: give both or none")
	}
	if c.Cert != "" && c.BehindProxy != "" {
		return netip.Addr{}, errors.New("TLS files and the name of a proxy exclude each other: behind a proxy, the proxy has the certificate")
	}
	if h := c.BehindProxy; h != "" && (strings.ToLower(h) != h || strings.ContainsAny(h, "/@?# *,")) {
		return netip.Addr{}, fmt.Errorf("proxy %q: give the host that browsers use, in lower case, with its port if it has one, such as eval.example.org", h)
	}
	if c.Listen == "" || c.Listen == "localhost" {
		return netip.Addr{}, nil
	}
	a, err := netip.ParseAddr(c.Listen)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("listen on %q: not an IP address; give one, such as 192.0.2.7", c.Listen)
	}
	if !a.IsLoopback() && c.Cert == "" && c.BehindProxy == "" {
		return netip.Addr{}, fmt.Errorf("listen on %s: other computers could read everything on the way; give TLS files or the name of a proxy in front, or keep the default and reach it with: ssh -L PORT:127.0.0.1:PORT THIS_COMPUTER", a)
	}
	return a, nil
}

// certificate reads the TLS files and returns the names in the certificate, which are
// the only ones under which browsers accept it.
func (s *Server) certificate() ([]string, error) {
	pair, err := tls.LoadX509KeyPair(s.config.Cert, s.config.Key)
	if err != nil {
		return nil, fmt.Errorf("read the TLS files %s and %s: %w", s.config.Cert, s.config.Key, err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s: %w", s.config.Cert, err)
	}
	var names []string
	for _, n := range leaf.DNSNames {
		if !strings.Contains(n, "*") {
			names = append(names, strings.ToLower(n))
		}
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("certificate %s has no exact name or IP address: a server only answers to exact names", s.config.Cert)
	}
	s.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return names, nil
}

func (s *Server) listen(a netip.Addr) error {
	network, host := "tcp4", "127.0.0.1"
	if a.IsValid() {
		network, host = "tcp", a.String()
	}
	for attempt := 0; ; attempt++ {
		l, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(s.config.Port)))
		if err != nil {
			return s.explain(host, err)
		}
		s.listeners = []net.Listener{l}
		if a.IsValid() {
			return nil
		}
		six, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
		switch {
		case err == nil:
			s.listeners = append(s.listeners, six)
			return nil
		case !errno.PortInUse.Of(err): // no IPv6 on this computer
			return nil
		}
		// Another process would answer for localhost.
		l.Close()
		if s.config.Port != 0 || attempt == 10 {
			return s.explain("::1", err)
		}
	}
}

func (s *Server) explain(address string, err error) error {
	if errno.PortInUse.Of(err) {
		return fmt.Errorf("listen on %s port %d: the port is in use; give another one, or none to take a free one", address, s.config.Port)
	}
	return fmt.Errorf("listen on %s port %d: %w", address, s.config.Port, err)
}

// withPort adds a port to names. Browsers leave out the default port of the scheme.
func withPort(names []string, port, standard int) []string {
	var hosts []string
	for _, n := range names {
		if strings.Contains(n, ":") && port == standard {
			hosts = append(hosts, "["+n+"]")
		} else if port == standard {
			hosts = append(hosts, n)
		}
		hosts = append(hosts, net.JoinHostPort(n, strconv.Itoa(port)))
	}
	return hosts
}

// URL is the address of the first page of a holder. It contains their secret: print it
// once, and keep it nowhere else than in Config.Kept.
func (s *Server) URL(holder string) string {
	for _, k := range s.secrets {
		if k.holder == holder {
			return s.scheme + "://" + s.hosts[0] + "/" + k.text + "/"
		}
	}
	panic(fmt.Sprintf("serve: no holder %q", holder))
}

// Serve answers requests with h until the context ends.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	server := &http.Server{
		Handler: s.Guard(h), TLSConfig: s.tls, ErrorLog: log.New(cmp.Or(s.config.Errors, io.Discard), "", 0),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() {
			if s.tls != nil {
				ended <- server.ServeTLS(l, "", "")
			} else {
				ended <- server.Serve(l)
			}
		}()
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-ended:
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(end) != nil {
		server.Close()
	}
	return failed
}

// Close closes the listeners of a server that does not serve.
func (s *Server) Close() {
	for _, l := range s.listeners {
		l.Close()
	}
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'none'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

type holderKey struct{}

// HolderOf returns the holder of the secret that a request came with.
func HolderOf(r *http.Request) string {
	h, _ := r.Context().Value(holderKey{}).(string)
	return h
}

// An Asset is a file that browsers may keep, as its name has its hash: a page works even if the
// server ends before the browser asks for the script again.
type Asset struct{ Path, kind, content string }

// NewAsset returns the asset name.ext with a media type and a content.
func NewAsset(name, ext, kind, content string) Asset {
	hash := sha256.Sum256([]byte(content))
	return Asset{Path: "a/" + name + "." + hex.EncodeToString(hash[:6]) + "." + ext, kind: kind, content: content}
}

// On adds the asset to the handlers of mux.
func (a Asset) On(mux *http.ServeMux) {
	mux.HandleFunc("GET /"+a.Path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", a.kind)
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.content))
	})
}

// Guard lets the requests through to h that keep the contract of this package.
func (s *Server) Guard(h http.Handler) http.Handler {
	sites := http.NewCrossOriginProtection()
	var origins []string
	for _, host := range s.hosts {
		origins = append(origins, s.scheme+"://"+host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !slices.Contains(s.hosts, r.Host) {
			http.Error(w, "this server has another name: use the address that it printed at its start", http.StatusForbidden)
			return
		}
		if o := r.Header.Values("Origin"); sites.Check(r) != nil || len(o) > 1 || len(o) == 1 && !slices.Contains(origins, o[0]) {
			http.Error(w, "request of another site", http.StatusForbidden)
			return
		}
		first, _, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		holder, ok := s.holder(first)
		if !ok || r.URL.RawPath != "" && !strings.HasPrefix(r.URL.RawPath, "/"+first) {
			http.NotFound(w, r)
			return
		}
		if !found {
			w.Header().Set("Location", first+"/") // relative, as all links are
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !s.mayWrite(w, r) {
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), holderKey{}, holder))
		http.StripPrefix("/"+first, h).ServeHTTP(w, r)
	})
}

// mayWrite reports whether a request may change something. If not, it has answered.
func (s *Server) mayWrite(w http.ResponseWriter, r *http.Request) bool {
	if !s.config.Writes {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this server only shows: it has no "+strconv.Quote(r.Method), http.StatusMethodNotAllowed)
		return false
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "a request that writes must be of type application/json", http.StatusUnsupportedMediaType)
		return false
	}
	if r.ContentLength > MaxBody {
		http.Error(w, fmt.Sprintf("a request may have %d bytes; this one has %d", MaxBody, r.ContentLength), http.StatusRequestEntityTooLarge)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	return true
}

// holder finds the holder of a secret. It looks at all secrets and at hashes of equal
// length, so its time says nothing about them.
func (s *Server) holder(text string) (holder string, ok bool) {
	given := sha256.Sum256([]byte(text))
	for _, k := range s.secrets {
		if subtle.ConstantTimeCompare(given[:], k.hash[:]) == 1 {
			holder, ok = k.holder, true
		}
	}
	return holder, ok
}

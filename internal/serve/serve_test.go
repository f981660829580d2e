package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// port returns the port of a server as text.
func port(s *Server) string {
	_, p, _ := net.SplitHostPort(s.listeners[0].Addr().String())
	return p
}

// Every combination of method, Host, Origin, Sec-Fetch-Site and secret: a request
// arrives only if all are right, and the first wrong one decides the status.
func TestHostOriginSecret(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s := open(t, Config{Writes: writes})
		reached := 0
		guard := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached++
			if r.URL.Path != "/r/1" {
				t.Errorf("the handler sees the path %q", r.URL.Path)
			}
		}))
		p, right := port(s), s.secrets[0].text
		type choice struct {
			value string
			good  bool
		}
		hosts := []choice{{"127.0.0.1:" + p, true}, {"localhost:" + p, true}, {"[::1]:" + p, true},
			{"", false}, {"127.0.0.1", false}, {"localhost:1", false}, {"evil.example:" + p, false}, {"127.0.0.1:" + p + ".evil.example", false},
			{"localhost.evil.example:" + p, false}, {"LOCALHOST:" + p, false}, {"localhost.:" + p, false}, {"0.0.0.0:" + p, false}, {"user@localhost:" + p, false}, {"::1:" + p, false}}
		origins := []choice{{"", true}, {"http://127.0.0.1:" + p, true}, {"http://localhost:" + p, true}, {"http://[::1]:" + p, true},
			{"null", false}, {"http://evil.example", false}, {"https://127.0.0.1:" + p, false}, {"http://127.0.0.1:1", false},
			{"http://127.0.0.1:" + p + ".evil.example", false}, {"http://evil.example:" + p, false}, {"http://127.0.0.1:" + p + "/", false}}
		sites := []choice{{"", true}, {"same-origin", true}, {"none", true}, {"cross-site", false}, {"same-site", false}}
		secrets := []choice{{right, true}, {"", false}, {strings.ToUpper(right), strings.ToUpper(right) == right}, {right[:31], false}, {right + "0", false}, {"..", false}, {strings.Repeat("0", 32), false}}
		methods := []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}
		for _, method := range methods {
			for _, host := range hosts {
				for _, origin := range origins {
					for _, site := range sites {
						for _, secret := range secrets {
							r := httptest.NewRequest(method, "http://x/", nil)
							r.URL.Path, r.Host = "/"+secret.value+"/r/1", host.value
							r.Header.Set("Content-Type", "application/json")
							if origin.value != "" {
								r.Header.Set("Origin", origin.value)
							}
							if site.value != "" {
								r.Header.Set("Sec-Fetch-Site", site.value)
							}
							w := httptest.NewRecorder()
							before := reached
							guard.ServeHTTP(w, r)
							reads := method == "GET" || method == "HEAD"
							// CrossOriginProtection leaves reads, and OPTIONS, alone.
							crossSite := !site.good && !reads && method != "OPTIONS" ||
								site.value == "" && origin.value != "" && !reads && method != "OPTIONS" && origin.value != "http://"+host.value
							want := http.StatusOK
							switch {
							case !host.good, !origin.good, crossSite:
								want = http.StatusForbidden
							case !secret.good:
								want = http.StatusNotFound
							case !reads && !writes:
								want = http.StatusMethodNotAllowed
							}
							if w.Code != want || (reached > before) != (want == http.StatusOK) {
								t.Fatalf("writes %v: %s Host %q Origin %q Sec-Fetch-Site %q secret %q: status %d, reached %v; want %d",
									writes, method, host.value, origin.value, site.value, secret.value, w.Code, reached > before, want)
							}
							if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
								t.Fatalf("status %d has the policy %q", w.Code, csp)
							}
						}
					}
				}
			}
		}
		if reached == 0 {
			t.Error("no request arrived")
		}
	}
}

func TestTwoOrigins(t *testing.T) {
	s := open(t, Config{})
	r := httptest.NewRequest("GET", "http://127.0.0.1:"+port(s)+"/"+s.secrets[0].text+"/", nil)
	r.Header["Origin"] = []string{"http://127.0.0.1:" + port(s), "http://evil.example"}
	w := httptest.NewRecorder()
	s.Guard(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

func TestWrites(t *testing.T) {
	s := open(t, Config{Writes: true})
	guard := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	}))
	for _, c := range []struct {
		kind   string
		size   int
		length bool // whether Content-Length is given
		want   int
	}{
		{"application/json", MaxBody, true, 200},
		{"application/json; charset=utf-8", 5, true, 200},
		{"application/json", MaxBody + 1, true, 413},
		{"application/json", MaxBody + 1, false, 413},
		{"text/plain", 5, true, 415},
		{"application/x-www-form-urlencoded", 5, true, 415},
		{"multipart/form-data; boundary=x", 5, true, 415},
		{"", 5, true, 415},
		{"application/json, text/plain", 5, true, 415},
	} {
		r := httptest.NewRequest("POST", "http://127.0.0.1:"+port(s)+"/"+s.secrets[0].text+"/event", bytes.NewReader(make([]byte, c.size)))
		if !c.length {
			r.ContentLength = -1
		}
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%d bytes of type %q: status %d, want %d", c.size, c.kind, w.Code, c.want)
		}
	}
}

// A secret is also who holds it; two starts have nothing in common.
func TestHolders(t *testing.T) {
	s, again := open(t, Config{Holders: []string{"anna", "bo"}}), open(t, Config{Holders: []string{"anna", "bo"}})
	guard := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, HolderOf(r)) }))
	seen := map[string]bool{}
	for _, who := range []string{"anna", "bo"} {
		r := httptest.NewRequest("GET", s.URL(who), nil)
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Body.String() != who {
			t.Errorf("the secret of %s is that of %q", who, w.Body)
		}
		for _, u := range []string{s.URL(who), again.URL(who)} {
			m := regexp.MustCompile(`^http://127\.0\.0\.1:\d+/([0-9a-f]{32})/$`).FindStringSubmatch(u)
			if m == nil || seen[m[1]] {
				t.Errorf("URL %s has no new secret of 128 bits", u)
			} else {
				seen[m[1]] = true
			}
		}
	}
}

// A secret without the slash leads to the first page; an escaped path keeps its escapes.
func TestPaths(t *testing.T) {
	s := open(t, Config{})
	var path, raw string
	guard := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { path, raw = r.URL.Path, r.URL.EscapedPath() }))
	base, secret := "http://127.0.0.1:"+port(s)+"/", s.secrets[0].text
	get := func(rest string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, httptest.NewRequest("GET", base+rest, nil))
		return w
	}
	if w := get(secret); w.Code != http.StatusTemporaryRedirect || w.Header().Get("Location") != secret+"/" {
		t.Errorf("without slash: %d to %q", w.Code, w.Header().Get("Location"))
	}
	if get(secret + "/i/a%2F..%2Fb"); path != "/i/a/../b" || raw != "/i/a%2F..%2Fb" {
		t.Errorf("the handler sees %q, %q", path, raw)
	}
	if w := get("%" + fmt.Sprintf("%02x", secret[0]) + secret[1:] + "/i/a%2Fb"); w.Code != http.StatusNotFound {
		t.Errorf("an escaped secret: %d", w.Code)
	}
}

func TestRefusedConfigs(t *testing.T) {
	busy := open(t, Config{})
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Listen: "0.0.0.0"}, "ssh -L"},
		{Config{Listen: "::"}, "ssh -L"},
		{Config{Listen: "192.0.2.7"}, "ssh -L"},
		{Config{Listen: "example.org"}, "not an IP address"},
		{Config{Listen: "0.0.0.0", Cert: "cert.pem"}, "give both or none"},
		{Config{Cert: "missing.pem", Key: "missing.pem"}, "missing.pem"},
		{Config{Listen: "0.0.0.0", BehindProxy: "https://x"}, "give the host that browsers use"},
		{Config{Listen: "0.0.0.0", BehindProxy: "*"}, "give the host that browsers use"},
		{Config{Port: -1}, "between 0 and 65535"},
		{Config{Port: 65536}, "between 0 and 65535"},
		{Config{Port: busy.listeners[0].Addr().(*net.TCPAddr).Port}, "in use"},
	} {
		s, err := Open(c.config)
		if err == nil {
			s.Close()
			t.Errorf("%+v: opened", c.config)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.config, err, c.want)
		}
	}
}

func TestBehindProxy(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1", BehindProxy: "eval.example.org"})
	if u := s.URL(""); !strings.HasPrefix(u, "https://eval.example.org/") {
		t.Errorf("URL %s", u)
	}
	for host, want := range map[string]int{"eval.example.org": 200, "127.0.0.1:" + port(s): 403, "localhost:" + port(s): 403} {
		r := httptest.NewRequest("GET", "http://"+host+"/"+s.secrets[0].text+"/", nil)
		w := httptest.NewRecorder()
		s.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %s: %d, want %d", host, w.Code, want)
		}
	}
}

// Another loopback address is the only name of its server.
func TestOtherLoopbackAddress(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.2"})
	if len(s.hosts) != 1 || s.hosts[0] != "127.0.0.2:"+port(s) || !strings.HasPrefix(s.URL(""), "http://127.0.0.2:") {
		t.Errorf("answers to %v at %s", s.hosts, s.URL(""))
	}
}

// A server with a certificate answers to its exact names, over TLS.
func TestCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"*.example.org", "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := open(t, Config{Listen: "0.0.0.0", Cert: write("cert.pem", "CERTIFICATE", der), Key: write("key.pem", "PRIVATE KEY", secret)})
	if want := []string{"localhost:" + port(s), "127.0.0.1:" + port(s)}; fmt.Sprint(s.hosts) != fmt.Sprint(want) {
		t.Errorf("answers to %v, want %v", s.hosts, want)
	}
	go s.Serve(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	r, err := client.Get(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); string(b) != "hello" || r.TLS == nil {
		t.Errorf("got %q, TLS %v", b, r.TLS != nil)
	}
}

// The end of the context ends a stream that watches it, and lets a request in flight
// finish.
func TestGracefulEnd(t *testing.T) {
	s := open(t, Config{})
	ctx, end := context.WithCancel(t.Context())
	inside, goOn := make(chan bool, 2), make(chan bool)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- true
		if r.URL.Path == "/stream" {
			<-ctx.Done()
		} else {
			<-goOn
		}
		io.WriteString(w, "whole")
	})
	served := make(chan error)
	go func() { served <- s.Serve(ctx, handler) }()
	answers := make(chan string, 2)
	for _, path := range []string{"stream", "slow"} {
		go func() {
			r, err := http.Get(s.URL("") + path)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer r.Body.Close()
			b, _ := io.ReadAll(r.Body)
			answers <- string(b)
		}()
	}
	<-inside
	<-inside
	end()
	if a := <-answers; a != "whole" {
		t.Errorf("the stream got %q", a)
	}
	close(goOn)
	if a := <-answers; a != "whole" {
		t.Errorf("the request in flight got %q", a)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL("")); err == nil {
		t.Error("the server still answers")
	}
}

// What is kept makes the same addresses at the next start: the secrets always, the port if it
// is free.
func TestKeptAddresses(t *testing.T) {
	kept := &Kept{}
	open := func(holders ...string) *Server {
		t.Helper()
		s, err := Open(Config{Holders: holders, Kept: kept})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	first := open("anna")
	anna := first.URL("anna")
	path := func(url string) string { return url[strings.LastIndex(strings.TrimSuffix(url, "/"), "/"):] }
	taken := open("anna")
	if got := taken.URL("anna"); got == anna || path(got) != path(anna) {
		t.Errorf("with the port in use: %s after %s", got, anna)
	}
	taken.Close()
	first.Close()
	again := open("anna", "ben")
	if got := again.URL("anna"); got != anna {
		t.Errorf("%s after %s", got, anna)
	}
	if path(again.URL("ben")) == path(anna) {
		t.Error("two people have one secret")
	}
	again.Close()
	kept.Secrets["anna"] = "short"
	if got := open("anna").URL("anna"); got == anna || len(got) != len(anna) {
		t.Errorf("a secret that was changed makes %s", got)
	}
}

package postgrestest

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Proxy is a connection to a server that tests disturb.
type Proxy struct {
	Port    int
	mu      sync.Mutex
	changed *sync.Cond
	fault   Fault
	open    map[net.Conn]bool
}

// A Fault of a connection. What is held arrives when the fault has ended, as in a network
// that sends again.
type Fault struct {
	Cut      bool          // connections end, and none is made
	Requests bool          // what is sent to the server is held
	Answers  bool          // what it sends is held
	Delay    time.Duration // of each piece
}

// Proxy starts a proxy for the server.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, open: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	t.Cleanup(func() { l.Close(); p.Set(Fault{Cut: true}) })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(s.Port))
			if err != nil {
				near.Close()
				continue
			}
			p.mu.Lock()
			p.open[near], p.open[far] = true, true
			p.mu.Unlock()
			go p.pass(far, near, func(f Fault) bool { return f.Requests })
			go p.pass(near, far, func(f Fault) bool { return f.Answers })
		}
	}()
	return p
}

// Address returns an address of the server as it is through the proxy.
func (p *Proxy) Address(s *Server, address string) string {
	return strings.Replace(address, ":"+strconv.Itoa(s.Port)+"/", ":"+strconv.Itoa(p.Port)+"/", 1)
}

// Set replaces the fault; Fault{} ends it.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	p.changed.Broadcast()
	for c := range p.open {
		if f.Cut {
			c.Close()
		}
	}
}

func (p *Proxy) pass(to, from net.Conn, held func(Fault) bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		for held(p.fault) {
			p.changed.Wait()
		}
		f := p.fault
		p.mu.Unlock()
		time.Sleep(f.Delay)
		if n > 0 && !f.Cut {
			_, _ = to.Write(b[:n])
		}
		if err != nil || f.Cut {
			break
		}
	}
	for _, c := range []io.Closer{to, from} {
		c.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, to)
	delete(p.open, from)
}

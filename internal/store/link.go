package store

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// silence is how long the server may say nothing to a worker that awaits an answer, but for
// what reads a whole run, see [DB.Patient]. A link whose other end has gone without a word, as
// behind a proxy or a firewall, would else be waited for without end.
const silence = time.Minute

// A link is a connection to the server that breaks when it is silent, if it is to.
type link struct {
	net.Conn
	of *postgres

	mu    sync.Mutex
	until time.Time // pgx waits; zero if it has no limit
}

func (p *postgres) link(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
	return &link{Conn: conn, of: p}, nil
}

func (l *link) Read(b []byte) (int, error) {
	l.patient(l.Conn.SetReadDeadline)
	return l.Conn.Read(b)
}

func (l *link) Write(b []byte) (int, error) {
	l.patient(l.Conn.SetWriteDeadline)
	return l.Conn.Write(b)
}

func (l *link) patient(set func(time.Time) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.until.IsZero() {
		return
	}
	var until time.Time
	if l.of.workers.Load() && l.of.patience.Load() == 0 {
		until = time.Now().Add(silence)
	}
	_ = set(until) // an error is that of what follows
}

// Patient has the links of a worker wait for as long as the server takes, until the end.
func (db *DB) Patient() (end func()) {
	p, is := db.engine.(*postgres)
	if !is {
		return func() {}
	}
	p.patience.Add(1)
	return func() { p.patience.Add(-1) }
}

// SetDeadline is how pgx ends what a context no longer waits for.
func (l *link) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = t
	return l.Conn.SetDeadline(t)
}

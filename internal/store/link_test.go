package store

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A worker does not wait without end for a server that says nothing, and pgx may end the wait
// before.
func TestSilentLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postgres{}
		near, far := net.Pipe()
		defer far.Close()
		conn, _ := p.link(t.Context(), nil, near)
		wait := func() (time.Duration, error) {
			begun := time.Now()
			_, err := conn.Read(make([]byte, 1))
			return time.Since(begun), err
		}
		say := func(after time.Duration) {
			go func() {
				time.Sleep(after)
				_, _ = io.WriteString(far, "x")
			}()
		}
		say(time.Hour)
		if took, err := wait(); err != nil || took != time.Hour {
			t.Errorf("a command waits %v: %v", took, err)
		}
		p.workers.Store(true)
		say(silence - time.Second)
		if took, err := wait(); err != nil || took != silence-time.Second {
			t.Errorf("a worker waits %v: %v", took, err)
		}
		time.Sleep(time.Hour) // nothing is awaited
		say(time.Second)
		if took, err := wait(); err != nil || took != time.Second {
			t.Errorf("a worker waits %v after a pause: %v", took, err)
		}
		go func() {
			time.Sleep(time.Second)
			_ = conn.SetDeadline(time.Now())
		}()
		if took, err := wait(); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Second {
			t.Errorf("a canceled worker waits %v: %v", took, err)
		}
		_ = conn.SetDeadline(time.Time{})
		if took, err := wait(); !errors.Is(err, os.ErrDeadlineExceeded) || took != silence {
			t.Errorf("a worker waits %v for nothing: %v", took, err)
		}
		end := (&DB{engine: p}).Patient()
		say(time.Hour)
		if took, err := wait(); err != nil || took != time.Hour {
			t.Errorf("a worker that scores a run waits %v: %v", took, err)
		}
		end()
		begun := time.Now()
		if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != silence {
			t.Errorf("a worker sends for %v: %v", time.Since(begun), err)
		}
	})
}

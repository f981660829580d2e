package sqltable

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A meter counts the steps of the queries of one connection, by SQLite's
// progress handler. The driver has no call for it and sets a handler of its own
// for a context that can end, so queries run without such and the meter looks
// at the context instead.
type meter struct {
	tls  *libc.TLS
	conn uintptr // of SQLite, as the driver holds it
}

// every is how many steps pass between two looks.
const every = 1000

// A run is one query under the meter.
type run struct {
	ctx      context.Context
	looks    int // that are left
	deadline time.Time
	time     time.Duration
	stopped  string // why, for the model; "" if it was not for its limits
}

// runs are the queries that run now, by connection: C code has no place for Go
// pointers.
var runs sync.Map // of uintptr to *run

// newMeter finds the connection in what the driver hides.
func newMeter(driver any) (*meter, error) {
	v := reflect.Indirect(reflect.ValueOf(driver))
	if v.Kind() != reflect.Struct {
		return nil, errors.New("the driver's connection is no structure")
	}
	conn := v.FieldByName("db")
	if conn.Kind() != reflect.Uintptr || conn.Uint() == 0 {
		return nil, errors.New("the driver's connection has no handle of SQLite")
	}
	return &meter{libc.NewTLS(), uintptr(conn.Uint())}, nil
}

func (m *meter) close() { m.tls.Close() }

// begin counts from here; the function that it gives ends that.
func (m *meter) begin(ctx context.Context, l Limits) (*run, func()) {
	r := &run{ctx: ctx, looks: max(1, l.Steps/every), deadline: time.Now().Add(l.Time), time: l.Time}
	runs.Store(m.conn, r)
	look := look
	// A function is a pointer to a pointer to code, and SQLite as Go wants the former.
	sqlite3.Xsqlite3_progress_handler(m.tls, m.conn, every, *(*uintptr)(unsafe.Pointer(&look)), m.conn)
	return r, func() {
		sqlite3.Xsqlite3_progress_handler(m.tls, m.conn, 0, 0, 0)
		runs.Delete(m.conn)
	}
}

// look is called by SQLite and stops the query by anything but 0.
func look(_ *libc.TLS, conn uintptr) int32 {
	v, ok := runs.Load(conn)
	if !ok {
		return 1
	}
	if r := v.(*run); !r.goesOn() {
		return 1
	}
	return 0
}

func (r *run) goesOn() bool {
	r.looks--
	switch {
	case r.stopped != "":
	case r.ctx.Err() != nil:
	case r.looks < 0:
		r.stopped = "stopped: the query is too much work; join on equal columns and do without endless recursion"
	case time.Now().After(r.deadline):
		r.stopped = fmt.Sprintf("stopped: the query took longer than %v", r.time)
	default:
		return true
	}
	return false
}

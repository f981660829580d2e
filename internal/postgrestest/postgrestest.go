// Package postgrestest starts a PostgreSQL server for tests, with real files and over a real
// connection. It is not part of the program.
package postgrestest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// A Server is a running PostgreSQL.
type Server struct {
	Port int
	bin  string // the folder of the programs
	dir  string
	user *syscall.Credential // the server refuses to run as root
	cmd  *exec.Cmd
	more []string // flags
	log  bytes.Buffer
	next atomic.Int64
}

var shared struct {
	sync.Mutex
	server *Server
}

// An M runs the tests of a package and stops the server that they shared.
type M struct{ *testing.M }

// Run returns the exit code.
func (m M) Run() int {
	code := m.M.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	return code
}

// Address returns the address of a new, empty schema of a server that the tests of the
// package share; [M] stops it. Without PostgreSQL on the machine it skips the test, but
// not in CI.
func Address(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		shared.server = Start(t)
	}
	return shared.server.Schema(t)
}

// Start starts a server of its own with settings such as "max_connections=20". Stop it.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir}
	for _, setting := range settings {
		s.more = append(s.more, "-c", setting)
	}
	if os.Getuid() == 0 {
		for _, name := range []string{"postgres", "nobody"} {
			if u, err := user.Lookup(name); err == nil {
				uid, _ := strconv.Atoi(u.Uid)
				gid, _ := strconv.Atoi(u.Gid)
				s.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
				if err := os.Chown(dir, uid, gid); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	initdb := s.command(filepath.Join(bin, "initdb"), "-N", "-D", dir+"/data", "-A", "scram-sha-256", "-U", "scruple", "--pwfile", s.file("password", "secret-word\n"), "-E", "UTF8", "--locale", "C.UTF-8")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	s.bin = bin
	s.Run(t)
	return s
}

// Run starts the server again after Kill.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	s.cmd = s.command(filepath.Join(s.bin, "postgres"), append([]string{"-D", s.dir + "/data", "-k", s.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-c", "max_connections=100", "-c", "fsync=off"}, s.more...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 300 {
		if err = db.PingContext(context.Background()); err == nil {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	t.Fatalf("PostgreSQL does not answer: %v\n%s", err, s.log.String())
}

func (s *Server) file(name, text string) string {
	path := filepath.Join(s.dir, name)
	_ = os.WriteFile(path, []byte(text), 0o644)
	return path
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	return c
}

func (s *Server) address(database string) string {
	return fmt.Sprintf("postgres://scruple:secret-word@127.0.0.1:%d/%s?sslmode=disable", s.Port, database)
}

// Database creates a database and returns its address, with the password "secret-word".
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("d%d", s.next.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.address(name)
}

// Schema creates a schema in the database "postgres" and returns its address. It takes a
// hundredth of the time of a database.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("s%d", s.next.Add(1))
	s.Exec(t, "postgres", "CREATE SCHEMA "+name)
	return s.address("postgres") + "&search_path=" + name
}

// Exec executes a statement as the owner of the server.
func (s *Server) Exec(t testing.TB, database, text string) {
	t.Helper()
	db, err := sql.Open("pgx", s.address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // "immediate shutdown"
	_ = s.cmd.Wait()
}

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// programs finds the folder of initdb and postgres.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return strings.TrimSuffix(path, "/initdb"), nil
	}
	return "", fmt.Errorf("no PostgreSQL server on this machine: install the package postgresql")
}

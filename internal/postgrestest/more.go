package postgrestest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SmallDisk returns the address of a database on a disk of its own, and a function that fills
// the disk or frees it again. It skips the test where no disk can be made.
func (s *Server) SmallDisk(t testing.TB, megabytes int) (address string, fill func(full bool)) {
	t.Helper()
	dir := filepath.Join(s.dir, "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", megabytes), "tmpfs", dir).Run(); err != nil {
		t.Skipf("a full disk is not tested: mounting a small one: %v", err)
	}
	t.Cleanup(func() { s.Stop(); _ = exec.Command("umount", dir).Run(); _ = os.RemoveAll(s.dir) })
	if s.user != nil {
		if err := os.Chown(dir, int(s.user.Uid), int(s.user.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	s.Exec(t, "postgres", "CREATE TABLESPACE small LOCATION '"+dir+"'")
	s.Exec(t, "postgres", "CREATE DATABASE small TABLESPACE small")
	ballast := filepath.Join(dir, "ballast")
	return s.address("small"), func(full bool) {
		if !full {
			_ = os.Remove(ballast)
			return
		}
		_ = exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=4k").Run() // until there is no room
	}
}

// PgBouncer starts a pooler in transaction mode in front of the server, with more settings,
// and returns its port. It skips the test where there is none on the machine.
func (s *Server) PgBouncer(t testing.TB, settings ...string) (port int) {
	t.Helper()
	bin := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(bin); err != nil {
		if bin, err = exec.LookPath("pgbouncer"); err != nil {
			t.Skip("PgBouncer is not tested: install the package pgbouncer")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d user=scruple password=secret-word\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n%s\n",
		s.Port, port, strings.Join(settings, "\n"))
	c := s.command(bin, s.file("pgbouncer"+strconv.Itoa(port)+".ini", config))
	c.Stdout, c.Stderr = &s.log, &s.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Signal(syscall.SIGQUIT); _ = c.Wait() })
	for range 100 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			conn.Close()
			return port
		}
		time.Sleep(30 * time.Millisecond)
	}
	t.Fatalf("PgBouncer does not answer:\n%s", s.log.String())
	return 0
}

//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A guard is a process that outlives this one for a moment: it kills the groups of the
// workers when its standard input ends, as it does however this process ends, kill -9
// included. It is a shell, in a session of its own, so that no terminal ends it. A system
// without a shell has no guard: then only idle workers notice.
type guard struct {
	mu    sync.Mutex
	pipe  *os.File // nil before the first worker, and without a shell
	tried bool
	cmd   *exec.Cmd
}

// watching reads "+ GROUP" and "- GROUP" lines.
const watching = `live=" "
while read -r op group; do
	case $op in
	+) live="$live$group " ;;
	-) live="${live%%" $group "*} ${live#*" $group "}" ;;
	esac
done
for group in $live; do kill -KILL "-$group"; done`

// add has the group of a worker killed when this process ends, until it is removed.
func (g *guard) add(group int) { g.tell("+", group) }

func (g *guard) remove(group int) { g.tell("-", group) }

func (g *guard) tell(op string, group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.tried {
		g.tried = true
		g.start()
	}
	if g.pipe != nil {
		fmt.Fprintln(g.pipe, op, group)
	}
}

func (g *guard) start() {
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	defer read.Close()
	g.cmd = &exec.Cmd{Path: "/bin/sh", Args: []string{"scruple-guard", "-c", watching}, Env: []string{}, Stdin: read,
		Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if g.cmd.Start() != nil {
		write.Close()
		return
	}
	g.pipe = write
}

// close ends the guard. No worker is left.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		g.pipe.Close()
		_ = g.cmd.Wait()
		g.pipe = nil
	}
}

// ownGroup makes the process the leader of a new group, so that its children can be
// killed with it and an interrupt at the terminal does not reach it: it exits when
// its standard input is closed.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process and its children. It is not an error if they have
// exited.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a new group, so that its children can be
// killed with it and an interrupt at the terminal does not reach it: it exits when
// its standard input is closed.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process and its children. It is not an error if they have
// exited.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup has the process lead a group of its own, so that its children can be
// ended with it and an interrupt at the terminal does not reach it: it ends
// when its standard input does.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process and what it has started. That nothing is left to
// kill is no error.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

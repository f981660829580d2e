//go:build unix

package errno

import "syscall"

var (
	Refused       = Kind{syscall.ECONNREFUSED}                                       // nobody takes the connection
	Unreachable   = Kind{syscall.EHOSTUNREACH, syscall.ENETUNREACH}                  // there is no way to the host
	PortInUse     = Kind{syscall.EADDRINUSE}                                         // another listener has it
	PipeClosed    = Kind{syscall.EPIPE}                                              // its reader has ended
	DiskFull      = Kind{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO} // or broken
	TooManyFiles  = Kind{syscall.EMFILE, syscall.ENFILE}                             // are open
	NotExecutable = Kind{syscall.ENOEXEC}                                            // no program of this system
	NoFolder      = Kind{syscall.ENOTDIR}                                            // a part of the path is a file
	Locked        = Kind{syscall.EWOULDBLOCK}                                        // by another process
)

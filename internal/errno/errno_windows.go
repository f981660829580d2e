package errno

import "golang.org/x/sys/windows"

// As on Unix, where the comments are.
var (
	Refused       = Kind{windows.WSAECONNREFUSED}
	Unreachable   = Kind{windows.WSAEHOSTUNREACH, windows.WSAENETUNREACH}
	PortInUse     = Kind{windows.WSAEADDRINUSE}
	PipeClosed    = Kind{windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA}
	DiskFull      = Kind{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_IO_DEVICE, windows.ERROR_FILE_TOO_LARGE}
	TooManyFiles  = Kind{windows.ERROR_TOO_MANY_OPEN_FILES}
	NotExecutable = Kind{windows.ERROR_BAD_EXE_FORMAT}
	NoFolder      = Kind{windows.ERROR_DIRECTORY, windows.ERROR_PATH_NOT_FOUND}
	Locked        = Kind{windows.ERROR_LOCK_VIOLATION}
)

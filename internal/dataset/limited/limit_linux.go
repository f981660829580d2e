package limited

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory lets allocations fail that take the process over its limit, which counts
// from the memory that it has now.
func limitMemory(bytes uint64) {
	var pages [6]uint64 // the last is the data
	statm, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(statm), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5])
	}
	if err != nil {
		return // watchMemory is left
	}
	limit := pages[5]*uint64(os.Getpagesize()) + bytes
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}

//go:build !linux

package pdf

// limitMemory does nothing: the system has no limit that works, so watchMemory is left.
func limitMemory() {}

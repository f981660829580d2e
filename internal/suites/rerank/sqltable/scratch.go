package sqltable

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// scratchBytes is the most that one sort or intermediate result may store.
const scratchBytes = 16 << 20

// scratch registers a VFS for temporary files and returns its name. Its files are
// those of SQLite's memdb VFS, in memory, with a limit of their size; a query that
// reaches the limit ends with SQLITE_FULL. It opens no file with a name.
var scratch = sync.OnceValues(func() (string, error) {
	const name = "scruple-scratch"
	tls := libc.NewTLS()
	defer tls.Close()
	zMemdb, err := libc.CString("memdb")
	if err != nil {
		return "", err
	}
	defer libc.Xfree(tls, zMemdb)
	memdb := sqlite3.Xsqlite3_vfs_find(tls, zMemdb)
	if memdb == 0 {
		return "", errors.New("SQLite has no VFS named memdb")
	}
	// SQLite keeps the name and the VFS for the life of the process.
	zName, err := libc.CString(name)
	if err != nil {
		return "", err
	}
	vfs := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	if vfs == 0 {
		return "", errors.New("out of memory")
	}
	v := at[sqlite3.Tsqlite3_vfs](vfs)
	*v = *at[sqlite3.Tsqlite3_vfs](memdb)
	memdbOpen = *(*openFunc)(unsafe.Pointer(&v.FxOpen)) // modernc stores functions as pointers
	limited := openFunc(openLimited)
	v.FzName, v.FpNext, v.FxOpen = zName, 0, *(*uintptr)(unsafe.Pointer(&limited))
	if code := sqlite3.Xsqlite3_vfs_register(tls, vfs, 0); code != sqlite3.SQLITE_OK {
		return "", errors.New("SQLite does not register the VFS")
	}
	return name, nil
})

type (
	openFunc    func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	controlFunc func(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32
)

var memdbOpen openFunc // set by scratch

// openLimited opens a temporary file. SQLite calls it.
func openLimited(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	if name != 0 {
		return sqlite3.SQLITE_CANTOPEN
	}
	if code := memdbOpen(tls, vfs, name, file, flags, outFlags); code != sqlite3.SQLITE_OK {
		return code
	}
	methods := at[sqlite3.Tsqlite3_io_methods](at[sqlite3.Tsqlite3_file](file).FpMethods)
	control := *(*controlFunc)(unsafe.Pointer(&methods.FxFileControl))
	limit := tls.Alloc(8)
	defer tls.Free(8)
	*at[int64](limit) = scratchBytes
	return control(tls, file, sqlite3.SQLITE_FCNTL_SIZE_LIMIT, limit)
}

// at returns the value at an address of SQLite's memory, which Go does not manage.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

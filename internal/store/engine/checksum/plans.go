package checksum

import (
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// keepPlans makes every connection that is opened from now on keep the plan of a prepared
// statement, whatever is bound to it. Otherwise SQLite recompiles many statements at each use, in
// case the bound value allows a better plan, which without statistics it never does.
func keepPlans(tls *libc.TLS) error {
	if rc := lib.Xsqlite3_auto_extension(tls, address(keepPlansOf)); rc != lib.SQLITE_OK {
		return fmt.Errorf("set up SQLite's connections: result %d", rc)
	}
	return nil
}

// keepPlansOf is called by SQLite for every new connection.
func keepPlansOf(tls *libc.TLS, db, _, _ uintptr) int32 {
	args := libc.NewVaList(int32(1), uintptr(0))
	if args == 0 {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, args)
	return lib.Xsqlite3_db_config(tls, db, lib.SQLITE_DBCONFIG_ENABLE_QPSG, args)
}

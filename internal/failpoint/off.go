//go:build !failpoint

package failpoint

// Pass does nothing.
func Pass(string) {}

// Planted is never true.
func Planted(string) bool { return false }

//go:build !linux

package render

import (
	"testing"
	"time"
)

// threadTime is the time of day, where a thread's own cannot be asked for.
func threadTime(*testing.T) time.Duration { return time.Duration(time.Now().UnixNano()) }

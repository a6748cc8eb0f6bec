//go:build !linux

package render

import (
	"testing"
	"time"
)

// threadTime returns the time of day, because the time of a thread is not available here.
func threadTime(*testing.T) time.Duration { return time.Duration(time.Now().UnixNano()) }

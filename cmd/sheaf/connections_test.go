package main

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

func TestConnections_BeyondTheBoundAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := &connections{Listener: inner, most: 2}
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	defer second.Close()
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("a third connection was served")
	}
	first.Close()
	first.Close() // twice makes room once
	dial()
	third := <-accepted
	defer third.Close()
	if _, err := io.WriteString(third, "x"); err != nil {
		t.Error(err)
	}
	if _, ok := third.(io.ReaderFrom); !ok {
		t.Error("the kernel cannot send files by itself on a connection that is counted")
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one too many was served")
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if open, refused := l.open.Load(), l.refused.Load(); open != 2 || refused != 2 {
		t.Errorf("%d open, %d refused, want 2 and 2", open, refused)
	}
}

// Who is in the kernel's queue is let in; who comes later is neither let in nor refused.
func TestConnections_TakeNoMoreKeepsTheQueue(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		sheaftest.Unable(t, "only Linux can")
	}
	l, err := listen("127.0.0.1:0", "--addr")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !takeNoMore(l) {
		t.Fatal("the filter is not taken")
	}
	late, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
	if err == nil {
		late.Close()
		t.Error("one more was taken")
	}
	if n := queued(l); n != 1 {
		t.Errorf("%d are told to be in the queue", n)
	}
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if n := queued(l); n != 0 {
		t.Errorf("%d are told to be in the queue when it is empty", n)
	}
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Error(err)
	}
	if n, err := in.Read(make([]byte, 1)); n != 1 {
		t.Errorf("who was in the queue is not heard: %v", err)
	}
}

func TestConnections_LeaveFilesForTheRest(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int64{1 << 20: 16384, 16896: 16384, 16895: 16383, 1024: 512, 256: 128, 4096: 3584} {
		if got := mostConnections(files); got != want {
			t.Errorf("of %d files %d are for clients, want %d", files, got, want)
		}
	}
}

// A stop without a client ended with 1 now and then: net/http closed again what was closed.
func TestConnections_CloseTwice(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &connections{Listener: inner, most: 1}
	if first, second := l.Close(), l.Close(); first != nil || second != nil {
		t.Errorf("got %v and %v", first, second)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("somebody was let in afterwards")
	}
}

// Who has connected and said nothing has longer to ask than who was heard before.
func TestConnections_WhoHasNotSpokenMayStillAsk(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &connections{Listener: inner, most: 1}
	defer l.Close()
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, early, late bool) {
		t.Helper()
		if l.mayAsk(0) != early || l.mayAsk(askWithin) != late || l.mayAsk(askMost) {
			t.Errorf("%s: at once %t, later %t, in the end %t", what, l.mayAsk(0), l.mayAsk(askWithin), l.mayAsk(askMost))
		}
	}
	want("silent", true, true)
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	want("heard", true, false)
	in.Close()
	in.Close()
	want("gone", false, false)
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// workload is what the generator does. It runs in a process of its own and sends raw requests over connections
// that stay open, each when the answer to the last one has come. It is the same for the limit, Sheaf and the
// peer.
type workload struct {
	Addr     string
	Conns    int
	Time     time.Duration
	Warm     time.Duration // before the time counts; every request is sent once at least, unless SkipPass
	SkipPass bool
	Requests [][]byte // in turn; counter is replaced by a number that was not sent before
	// Before makes it work in rounds: these first, not timed, and then each of Requests once, timed.
	Before [][]byte
	// Once ends it when each request was sent once.
	Once bool
}

// counter stands in a request where each is to differ.
const counter = "@@@@@@@@@@"

// measured is the result of a workload. An error, or an answer other than 2xx, voids it.
type measured struct {
	Count         int
	Errors        int
	Stalls        int     // repeated
	CPU           float64 // µs of the generator itself, for a request
	First         string  // error
	Seconds       float64
	P50, P99, Max float64 // milliseconds
	Bytes         int64
}

func (m measured) rate() float64 { return float64(m.Count) / m.Seconds }

// loadCommand reads a workload from standard input and writes what was measured.
func loadCommand() error {
	var w workload
	if err := json.NewDecoder(os.Stdin).Decode(&w); err != nil {
		return err
	}
	m, err := w.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// sender is one connection.
type sender struct {
	addr     string
	conn     net.Conn // nil: has to be dialled again
	in       *bufio.Reader
	fresh    time.Time // when the connection got its deadline
	number   int       // of the next request that has a counter
	requests [][]byte
	at       int
	silent   bool // its times do not count
	times    []time.Duration
	bytes    int64
	err      error
	errors   int
	stalls   int
}

func (w *workload) run() (measured, error) {
	senders := make([]*sender, w.Conns)
	for i := range senders {
		s := &sender{addr: w.Addr, requests: clone(w.Requests, i, w.Conns), number: i*10_000_000 + int(time.Now().UnixMilli()%10_000_000)}
		if err := s.connect(); err != nil {
			return measured{}, err
		}
		defer s.hangUp()
		senders[i] = s
	}
	switch {
	case w.Before != nil:
		return w.rounds(senders), nil
	case w.Once:
		return once(senders), nil
	}
	if w.Warm > 0 {
		each(senders, func(s *sender) { s.warm(w.Warm, w.SkipPass) })
	}
	began := time.Now()
	each(senders, func(s *sender) { s.until(began.Add(w.Time)) })
	return total(senders, time.Since(began)), nil
}

// clone copies one sender's part of the requests, so that each sender has its own counter.
func clone(requests [][]byte, first, step int) [][]byte {
	var out [][]byte
	for i := first; i < len(requests); i += step {
		out = append(out, bytes.Clone(requests[i]))
	}
	if len(out) == 0 {
		out = append(out, bytes.Clone(requests[first%len(requests)]))
	}
	return out
}

func each(senders []*sender, do func(*sender)) {
	var group sync.WaitGroup
	for _, s := range senders {
		group.Go(func() { do(s) })
	}
	group.Wait()
}

func once(senders []*sender) measured {
	began := time.Now()
	each(senders, func(s *sender) {
		for range s.requests {
			s.next()
		}
	})
	return total(senders, time.Since(began))
}

// rounds sends Before and then Requests, again and again, and counts the time of the second alone.
func (w *workload) rounds(senders []*sender) measured {
	var counted time.Duration
	before, requests := deal(senders, w.Before), deal(senders, w.Requests)
	begin := time.Now()
	for time.Since(begin) < w.Warm+w.Time {
		pass(senders, before, false)
		timed := time.Since(begin) >= w.Warm
		if took := pass(senders, requests, timed); timed {
			counted += took
		}
	}
	return total(senders, counted)
}

func deal(senders []*sender, requests [][]byte) [][][]byte {
	out := make([][][]byte, len(senders))
	for i := range senders {
		if i < len(requests) {
			out[i] = clone(requests, i, len(senders))
		}
	}
	return out
}

// pass lets each sender send its requests once.
func pass(senders []*sender, requests [][][]byte, timed bool) time.Duration {
	began := time.Now()
	var group sync.WaitGroup
	for i, s := range senders {
		s.requests, s.at, s.silent = requests[i], 0, !timed
		group.Go(func() {
			for range s.requests {
				s.next()
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// warm sends every request once, for some time at least, and forgets what it measured.
func (s *sender) warm(least time.Duration, skipPass bool) {
	s.silent = true
	for began, n := time.Now(), 0; !skipPass && n < len(s.requests) || time.Since(began) < least; n++ {
		s.next()
	}
	s.silent = false
}

func (s *sender) until(end time.Time) {
	for time.Now().Before(end) && s.errors < 100 {
		s.next()
	}
}

// next sends the next request and reads its answer.
func (s *sender) next() {
	request := s.requests[s.at]
	s.at = (s.at + 1) % len(s.requests)
	s.number = count(request, s.number)
	began := time.Now()
	for tries := 0; ; tries++ {
		err := s.exchange(request)
		if err == nil {
			break
		}
		if !errors.Is(err, errStalled) || tries == mostStalls {
			s.errors++
			s.err = errors.Join(s.err, err)
			return
		}
		s.stalls++
		time.Sleep(stallRest)
		began = time.Now()
	}
	if !s.silent {
		s.times = append(s.times, time.Since(began))
	}
}

// digits finds the number in a request: in its body, behind the name of the field.
var digits = []byte("Project ")

// count writes the number over the counter, or over the number that the last call wrote there.
func count(request []byte, number int) int {
	at := bytes.LastIndex(request, digits)
	if at < 0 {
		return number
	}
	place := request[at+len(digits) : at+len(digits)+len(counter)]
	for i, n := len(place)-1, number; i >= 0; i, n = i-1, n/10 {
		place[i] = byte('0' + n%10)
	}
	return number + 1
}

// connect makes the connection.
func (s *sender) connect() error {
	conn, err := net.DialTimeout("tcp", s.addr, stallAfter)
	if err != nil {
		return err
	}
	s.conn, s.in, s.fresh = conn, bufio.NewReaderSize(conn, 64<<10), time.Time{}
	return nil
}

func (s *sender) hangUp() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// exchange sends a request and reads its answer. When none comes in time, when the connection breaks, or when the
// server says that it is busy, that is errStalled, and the next exchange begins with a new connection.
func (s *sender) exchange(request []byte) error {
	if s.conn == nil {
		if err := s.connect(); err != nil {
			return fmt.Errorf("%w: %w", errStalled, err)
		}
	}
	if now := time.Now(); now.Sub(s.fresh) > stallAfter/10 { // for each request it would cost more than the request
		s.fresh = now
		_ = s.conn.SetDeadline(now.Add(stallAfter))
	}
	status, err := s.answer(request)
	switch {
	case err == nil && status/100 == 2:
		return nil
	case status != 0 && status != 503:
		return err
	}
	s.hangUp()
	return fmt.Errorf("%w: %w", errStalled, err)
}

// answer is exchange on the present connection. The status is 0 if no answer came.
func (s *sender) answer(request []byte) (status int, err error) {
	if _, err := s.conn.Write(request); err != nil {
		return 0, err
	}
	status, length, err := s.head()
	if err != nil {
		return 0, err
	}
	if status/100 != 2 {
		body := make([]byte, max(0, min(length, 200)))
		_, _ = io.ReadFull(s.in, body)
		_, _ = s.in.Discard(max(0, length-len(body)))
		return status, fmt.Errorf("status %d: %s", status, body)
	}
	if err := s.body(status, length); err != nil {
		return 0, err
	}
	return status, nil
}

// body reads what comes behind the headers.
func (s *sender) body(status, length int) error {
	if status == 204 {
		return nil
	}
	if length < 0 {
		return s.chunks()
	}
	return s.skip(length)
}

// head reads the status and the headers. A length below 0 means that the body is chunked.
func (s *sender) head() (status, length int, err error) {
	line, err := s.in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("no status line: %q", line)
	}
	status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	for {
		if line, err = s.in.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		s.bytes += int64(len(line))
		switch {
		case len(line) <= 2:
			return status, length, nil
		case len(line) > 16 && (line[0] == 'C' || line[0] == 'c') && bytes.EqualFold(line[:15], []byte("Content-Length:")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[15:]))); err != nil {
				return 0, 0, err
			}
		case (line[0] == 'T' || line[0] == 't') && len(line) > 18 && bytes.EqualFold(line[:18], []byte("Transfer-Encoding:")):
			length = -1
		}
	}
}

func (s *sender) skip(n int) error {
	s.bytes += int64(n)
	_, err := s.in.Discard(n)
	return err
}

func (s *sender) chunks() error {
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if err := s.skip(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}

func total(senders []*sender, took time.Duration) measured {
	m := measured{Seconds: took.Seconds()}
	var times []time.Duration
	for _, s := range senders {
		times = append(times, s.times...)
		m.Errors += s.errors
		m.Stalls += s.stalls
		m.Bytes += s.bytes
		if s.err != nil && m.First == "" {
			m.First = s.err.Error()
		}
	}
	m.Count = len(times)
	m.P50, m.P99, m.Max = quantiles(times)
	return m
}

// quantiles returns the median, the 99th percentile and the largest, in milliseconds.
func quantiles(times []time.Duration) (p50, p99, most float64) {
	if len(times) == 0 {
		return 0, 0, 0
	}
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[min(len(times)-1, int(q*float64(len(times))))].Nanoseconds()) / 1e6
	}
	return at(0.5), at(0.99), at(1)
}

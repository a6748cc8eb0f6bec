package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// posting is what the bare client does, the limit for deliveries: it posts one signed body again and again.
type posting struct {
	posted
	CA    string
	Conns int
	Count int
	Rate  float64 // a second; 0: as fast as it can
}

// postCommand reads a posting from standard input and writes what was measured.
func postCommand() error {
	var p posting
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	client, err := clientFor(p.CA, p.Conns)
	if err != nil {
		return err
	}
	client.Timeout = stallAfter
	// The connections are made before the time counts, as Sheaf's were before.
	if _, err := p.run(client, p.Conns*2, 0); err != nil {
		return err
	}
	before := ownCPU()
	m, err := p.run(client, p.Count, p.Rate)
	if err != nil {
		return err
	}
	m.CPU = float64((ownCPU() - before).Microseconds()) / float64(max(1, m.Count))
	return json.NewEncoder(os.Stdout).Encode(m)
}

func (p *posting) run(client *http.Client, count int, rate float64) (measured, error) {
	var next atomic.Int64
	senders := make([]*sender, p.Conns)
	began := time.Now()
	var group sync.WaitGroup
	for i := range senders {
		s := &sender{}
		senders[i] = s
		group.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(count) {
					return
				}
				if rate > 0 {
					time.Sleep(time.Until(began.Add(time.Duration(float64(n) / rate * float64(time.Second)))))
				}
				s.post(client, p)
			}
		})
	}
	group.Wait()
	m := total(senders, time.Since(began))
	if m.Errors > 0 {
		return m, fmt.Errorf("%d errors: %s", m.Errors, m.First)
	}
	return m, nil
}

func (s *sender) post(client *http.Client, p *posting) {
	for tries := 0; ; tries++ {
		began := time.Now()
		err := postOnce(client, p)
		if err == nil {
			s.times = append(s.times, time.Since(began))
			return
		}
		if !errors.Is(err, errStalled) || tries == mostStalls {
			s.errors++
			s.err = err
			return
		}
		s.stalls++
		time.Sleep(stallRest)
	}
}

func postOnce(client *http.Client, p *posting) error {
	r, err := http.NewRequest("POST", p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return err
	}
	r.Header = p.Header
	answer, err := client.Do(r)
	if err != nil {
		return stalledIf(true, err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return stalledIf(true, err)
	}
	if answer.StatusCode != http.StatusOK {
		return stalledIf(answer.StatusCode == http.StatusServiceUnavailable, fmt.Errorf("status %d", answer.StatusCode))
	}
	return nil
}

// pacing is a load that does not wait for answers: a fixed number of requests per second, however long they take.
type pacing struct {
	Addr     string
	Rate     float64
	Time     time.Duration
	Requests [][]byte
}

// written is one write of a pacing, and when it was sent and answered, in nanoseconds.
type written struct {
	ID             string
	Owner          int // the index of the request
	Sent, Answered int64
	Stalls         int // before it: then its time says nothing
}

// paceCommand reads a pacing from standard input and writes what was written.
func paceCommand() error {
	var p pacing
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	out, err := p.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func (p *pacing) run() ([]written, error) {
	n := int(p.Rate * p.Time.Seconds())
	out, failed := make([]written, n), make([]error, n)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 256 // patient has this one
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))))
		group.Go(func() { out[i], failed[i] = p.write(i % len(p.Requests)) })
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *pacing) write(at int) (written, error) {
	w := written{Owner: at}
	var a recorded
	for {
		var err error
		w.Sent = time.Now().UnixNano()
		a, err = record(p.Addr, p.Requests[at])
		w.Answered = time.Now().UnixNano()
		if err == nil {
			break
		}
		if !errors.Is(err, errStalled) || w.Stalls == mostStalls {
			return w, err
		}
		w.Stalls++
		time.Sleep(stallRest)
	}
	var made struct{ ID string }
	err := json.Unmarshal(a.Body, &made)
	w.ID = made.ID
	return w, err
}

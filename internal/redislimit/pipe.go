package redislimit

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// batchMost bounds the calls in one exchange: some milliseconds of Redis' time.
const batchMost = 256

var errClosed = errors.New("the connection to Redis was closed")

// pipe is one connection that many callers share: while one exchange is under way the next calls
// gather, and travel together. One of the callers does the work for all of them, so there is no
// goroutine to look after. After the first failure of the connection all calls fail, at once.
type pipe struct {
	conn redis.Conn

	mu    sync.Mutex // guards all below, but not conn, which is the leader's
	queue []*call
	led   bool
	err   error
}

// call is a script to run, and what came of it.
type call struct {
	script *redis.Script
	args   []any // the key first
	reply  []int64
	err    error

	lead chan bool // false: the call was served; true: it is to serve
}

// dial opens a connection within about the budget, or that for each Sentinel, which then bounds
// every exchange on it.
func dial(address string, budget time.Duration) (*pipe, error) {
	s, err := parseSentinels(address)
	if err != nil {
		return nil, err
	}
	var conn redis.Conn
	if s != nil {
		conn, err = s.dialMaster(budget)
	} else {
		conn, err = dialURL(address, budget)
	}
	if err != nil {
		return nil, err
	}
	return &pipe{conn: conn}, nil
}

// run runs a script on one key, and returns its numbers.
func (p *pipe) run(script *redis.Script, args ...any) ([]int64, error) {
	c := &call{script: script, args: args, lead: make(chan bool, 1)}
	p.mu.Lock()
	if err := p.err; err != nil {
		p.mu.Unlock()
		return nil, err
	}
	p.queue = append(p.queue, c)
	if !p.led {
		p.led = true
		c.lead <- true
	}
	p.mu.Unlock()
	if <-c.lead {
		p.serve()
	}
	return c.reply, c.err
}

// serve does one exchange for the calls that have gathered, the leader's own first among them, and
// makes one of those that came meanwhile the next leader.
func (p *pipe) serve() {
	p.mu.Lock()
	n := min(len(p.queue), batchMost)
	batch := p.queue[:n:n]
	p.queue = p.queue[n:]
	p.mu.Unlock()

	err := p.exchange(batch)
	for _, c := range batch[1:] {
		c.lead <- false
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		err = p.err // closed meanwhile
	}
	if err != nil {
		p.fail(err)
	}
	p.led = len(p.queue) > 0
	if p.led {
		p.queue[0].lead <- true
	}
}

// exchange sends the calls and reads their replies. It returns the connection's error, which is
// also the calls'.
func (p *pipe) exchange(batch []*call) error {
	for _, c := range batch {
		_ = c.script.SendHash(p.conn, c.args...) // an error stays with the connection
	}
	_ = p.conn.Flush()
	var unknown []*call
	for _, c := range batch {
		c.reply, c.err = redis.Int64s(p.conn.Receive())
		if reply, ok := errors.AsType[redis.Error](c.err); ok && strings.HasPrefix(string(reply), "NOSCRIPT ") {
			unknown = append(unknown, c)
		}
	}
	for _, c := range unknown {
		c.reply, c.err = redis.Int64s(c.script.Do(p.conn, c.args...)) // sends the script itself, if need be
	}
	return p.conn.Err()
}

// fail ends all calls that wait. It is called with mu held, by the leader.
func (p *pipe) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	for _, c := range p.queue {
		c.err = p.err
		c.lead <- false
	}
	p.queue = nil
	_ = p.conn.Close()
}

// close makes later calls fail. It does not interrupt an exchange that is under way.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = errClosed
	if !p.led {
		_ = p.conn.Close()
	}
}

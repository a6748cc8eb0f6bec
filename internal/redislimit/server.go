package redislimit

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// keyPrefix and nodesKey are all that is written to Redis, which may serve others too.
const (
	keyPrefix = "sheaf:rate:"
	nodesKey  = "sheaf:nodes"
)

// server is Redis over one connection, as the scripts see it. Every call ends within about the
// budget, with an error if need be.
type server struct {
	pipe *pipe
	held int64 // microseconds that an admission holds its slot
}

// admission is what Redis says of one request.
type admission struct {
	admitted bool
	key      fill
	group    fill // the zero value if the request has no group
}

// fill is the state of one window.
type fill struct {
	count int
	wait  time.Duration // until one more slot frees, of a refused request until all that it needs do; 0 while they are free
}

// beat is what Redis says of the nodes.
type beat struct {
	last  int64 // the node's previous beat, 0 if Redis knows of none
	nodes int   // number of live nodes
	at    int64 // Redis' time, in microseconds
}

// connect returns a Redis that can be asked, until close.
func connect(address string, budget, window time.Duration) (*server, error) {
	p, err := dial(address, budget)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &server{pipe: p, held: window.Microseconds() + 1}, nil
}

func (s *server) close() { s.pipe.close() }

// checkURL says what is wrong with an address, without repeating it: it may hold a password.
func checkURL(address string) error {
	if s, err := parseSentinels(address); s != nil || err != nil {
		return err
	}
	return checkRedis(address)
}

// checkRedis is checkURL for the address of a Redis.
func checkRedis(address string) error {
	const want = "want redis://host:6379, redis://user:password@host:6379/0, rediss:// for TLS, or redis-sentinel:// for Sentinels"
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address of Redis is no URL: " + want)
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return fmt.Errorf("the address of Redis begins with %q: %s", u.Scheme, want)
	}
	if u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the address of Redis is not complete, or holds more than it should: " + want)
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if n, err := strconv.ParseUint(db, 10, 31); err != nil || u.Path != "/"+strconv.FormatUint(n, 10) {
			return fmt.Errorf("the address of Redis names the database %q, which is no number: %s", db, want)
		}
	}
	return nil
}

// ask has Redis decide on a request, and count it if it is admitted.
func (s *server) ask(q question) (admission, error) {
	args := []any{1, keyPrefix + q.key, s.held, s.life(), q.slots(), q.whole(), q.limit}
	if q.in.Ceiling > 0 {
		args = []any{2, keyPrefix + q.key, keyPrefix + q.in.Name, s.held, s.life(), q.slots(), q.whole(), q.limit, q.in.Ceiling}
	}
	r, err := s.pipe.run(admitScript, args...)
	if err == nil && len(r) != len(args)-4 {
		err = fmt.Errorf("%d values in the reply", len(r))
	}
	if err != nil {
		return admission{}, fmt.Errorf("admit a request: %w", err)
	}
	return newAdmission(r), nil
}

// newAdmission reads the script's reply.
func newAdmission(r []int64) admission {
	a := admission{admitted: r[0] == 1, key: newFill(r[1:])}
	if len(r) > 3 {
		a.group = newFill(r[3:])
	}
	return a
}

func newFill(r []int64) fill { return fill{int(r[0]), time.Duration(r[1]) * time.Microsecond} }

// life is how long a key outlives its last admission, in milliseconds.
func (s *server) life() int64 { return s.held/1000 + 1 }

// beat notes that the node is alive.
func (s *server) beat(node string, alive, kept time.Duration) (beat, error) {
	r, err := s.pipe.run(beatScript, nodesKey, node, alive.Microseconds(), kept.Microseconds())
	if err != nil {
		return beat{}, fmt.Errorf("note that the node is alive: %w", err)
	}
	if len(r) != 3 {
		return beat{}, fmt.Errorf("note that the node is alive: %d values in the reply", len(r))
	}
	return beat{r[0], int(r[1]), r[2]}, nil
}

// leave takes the node off the list of those alive.
func (s *server) leave(node string) error {
	_, err := s.pipe.run(leaveScript, nodesKey, node)
	return err
}

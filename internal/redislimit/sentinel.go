package redislimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// With Sentinel the address names the Sentinels, which know the present Redis master:
//
//	redis-sentinel://user:password@host:26379,host:26379/0?master=NAME
//
// For each connection to Redis they are asked one after the other. The Redis that they name must
// confirm that it is the master: for a while after a failover, some Sentinels only know the previous
// one. When a master steps down, it closes its connections or refuses to write. Then Redis counts as
// lost, until it is found where the Sentinels say.

// sentinelPort is that of a Sentinel whose address names none.
const sentinelPort = "26379"

// sentinels is what an address of Sentinels says.
type sentinels struct {
	hosts  []string
	master string   // the master's name in the Sentinels
	redis  *url.URL // the address of a Redis, without the host
}

// parseSentinels reads the address of Sentinels; it is nil for that of a Redis. Its errors do not
// repeat the address, which may hold a password.
func parseSentinels(address string) (*sentinels, error) {
	const want = "write redis-sentinel://user:password@host:26379,host:26379/0?master=NAME"
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme != "redis-sentinel" && scheme != "rediss-sentinel" {
		return nil, nil
	}
	scheme = strings.TrimSuffix(scheme, "-sentinel")
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return nil, errors.New("the address of the Sentinels is no URL: " + want)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) != 1 || len(query["master"]) != 1 || query.Get("master") == "" {
		return nil, errors.New("the address of the Sentinels does not name the master, or holds more: " + want)
	}
	s := &sentinels{master: query.Get("master"), redis: u}
	for host := range strings.SplitSeq(u.Host, ",") {
		if !strings.Contains(host, ":") {
			host = net.JoinHostPort(host, sentinelPort)
		}
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" {
			return nil, errors.New("the address of the Sentinels has a host that is none: " + want)
		}
		s.hosts = append(s.hosts, host)
	}
	u.RawQuery, u.Host = "", s.hosts[0]
	return s, checkRedis(u.String())
}

// dialMaster connects to the Redis that the Sentinels name.
func (s *sentinels) dialMaster(budget time.Duration) (redis.Conn, error) {
	var failures error
	for _, host := range s.hosts {
		conn, err := s.dialBy(host, budget)
		if err == nil {
			return conn, nil
		}
		failures = errors.Join(failures, fmt.Errorf("by the Sentinel %s: %w", host, err))
	}
	return nil, failures
}

// dialBy connects to the Redis that one Sentinel names.
func (s *sentinels) dialBy(host string, budget time.Duration) (redis.Conn, error) {
	address, err := s.ask(host, budget)
	if err != nil {
		return nil, err
	}
	conn, err := dialURL(s.at(address), budget)
	if err != nil {
		return nil, err
	}
	role, err := redis.Values(conn.Do("ROLE"))
	if err == nil && (len(role) == 0 || fmt.Sprintf("%s", role[0]) != "master") {
		err = fmt.Errorf("%s is not the master any more", address)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// ask has a Sentinel say where the master is. One that wants a password gets that of Redis.
func (s *sentinels) ask(host string, budget time.Duration) (address string, err error) {
	bare := url.URL{Scheme: s.redis.Scheme, Host: host}
	conn, err := dialURL(bare.String(), budget)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	question := []any{"get-master-addr-by-name", s.master}
	reply, err := redis.Strings(conn.Do("SENTINEL", question...))
	if password, has := s.redis.User.Password(); has && err != nil && strings.HasPrefix(err.Error(), "NOAUTH ") {
		if _, err = conn.Do("AUTH", password); err == nil {
			reply, err = redis.Strings(conn.Do("SENTINEL", question...))
		}
	}
	if errors.Is(err, redis.ErrNil) {
		return "", fmt.Errorf("it knows no master %q: see master= in --redis-url", s.master)
	}
	if err != nil || len(reply) != 2 {
		return "", fmt.Errorf("it does not say where the master is: %w", err)
	}
	return net.JoinHostPort(reply[0], reply[1]), nil
}

// at is the address of the Redis at a host.
func (s *sentinels) at(host string) string {
	u := *s.redis
	u.Host = host
	return u.String()
}

// dialURL opens a connection within about the budget, which then bounds every exchange on it.
func dialURL(address string, budget time.Duration) (redis.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	return redis.DialURLContext(ctx, address, redis.DialConnectTimeout(budget), redis.DialTLSHandshakeTimeout(budget),
		redis.DialReadTimeout(budget), redis.DialWriteTimeout(budget))
}

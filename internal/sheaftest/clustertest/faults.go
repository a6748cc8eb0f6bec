package clustertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gomodule/redigo/redis"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// await returns when asking succeeds, or with its last error after a time that is for ever.
func (c *Cluster) await(what string, ask func() error) (err error) {
	if sheaftest.Within(daemon.Timeout, func() bool { err = ask(); return err == nil }) {
		return nil
	}
	return fmt.Errorf("never came: %s: %w", what, err)
}

// ask expects the answer 200.
func (c *Cluster) ask(url string) error {
	res, err := c.client.Get(url)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: %s", url, res.Status))
	}
	return nil
}

// patroni is the address of a member's Patroni.
func (c *Cluster) patroni(member int, path string) string {
	return "http://" + c.at(c.members[member].machine.host, 8008) + path
}

// Leader returns the member that says it leads, -1 while none does.
func (c *Cluster) Leader() int {
	for i := range c.members {
		if c.ask(c.patroni(i, "/primary")) == nil {
			return i
		}
	}
	return -1
}

// AwaitLeader returns the leader when there is one, other than the member given; -1 is any.
func (c *Cluster) AwaitLeader(other int) (leader int, err error) {
	err = c.await("a leader", func() error {
		if leader = c.Leader(); leader < 0 || leader == other {
			return errors.New("nobody leads yet")
		}
		return nil
	})
	return leader, err
}

// awaitMembers returns when one leads and the others follow it; where COMMIT waits for a standby, when
// one of them is that for Patroni too. It says so in etcd some seconds after COMMIT has begun to wait: when
// the leader is lost between the two, nobody else may lead until it is back.
func (c *Cluster) awaitMembers() error {
	return c.await("a leader and two standbys", func() error {
		leader := c.Leader()
		if leader < 0 {
			return errors.New("nobody leads yet")
		}
		heirs := 0
		for i := range size {
			if i != leader {
				// One that is at pg_rewind streams nothing, while another may be listed twice.
				if err := c.ask(c.patroni(i, "/replica")); err != nil {
					return err
				}
				if c.ask(c.patroni(i, "/synchronous")) == nil {
					heirs++
				}
			}
		}
		if !c.asynchronous && heirs == 0 {
			return errors.New("nobody may lead in the leader's place yet")
		}
		following, synchronous, err := c.following(leader)
		if err != nil || following != size-1 || !c.asynchronous && synchronous == 0 {
			return errors.Join(err, fmt.Errorf("%d follow, %d of them synchronously", following, synchronous))
		}
		return nil
	})
}

// AwaitMembers is for after a fault: all members are there again.
func (c *Cluster) AwaitMembers() error { return c.awaitMembers() }

// following counts the standbys that stream from the leader.
func (c *Cluster) following(leader int) (all, synchronous int, err error) {
	res, err := c.client.Get(c.patroni(leader, "/patroni"))
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	var state struct {
		Replication []struct {
			Name  string `json:"application_name"`
			State string `json:"state"`
			Sync  string `json:"sync_state"`
		} `json:"replication"`
	}
	err = json.NewDecoder(res.Body).Decode(&state)
	names := map[string]bool{} // a member whose connection broke may be listed for a while beside itself
	for _, r := range state.Replication {
		if r.State == "streaming" && !names[r.Name] {
			names[r.Name] = true
			if r.Sync == "sync" {
				synchronous++
			}
		}
	}
	return len(names), synchronous, err
}

// KillMember cuts the power of a member's machine: etcd, Patroni and PostgreSQL.
func (c *Cluster) KillMember(i int) error {
	return errors.Join(c.members[i].patroni.kill(), c.members[i].etcd.kill())
}

// StartMember starts what KillMember has stopped, with the files that it had.
func (c *Cluster) StartMember(i int) error {
	return errors.Join(c.members[i].etcd.Again(), c.members[i].patroni.Again())
}

// FreezeMember stops the clockwork of a member's machine.
func (c *Cluster) FreezeMember(i int) error {
	return errors.Join(c.members[i].patroni.freeze(), c.members[i].etcd.freeze())
}

// ThawMember lets it go on.
func (c *Cluster) ThawMember(i int) error {
	return errors.Join(c.members[i].etcd.thaw(), c.members[i].patroni.thaw())
}

// KillEtcd ends the etcd of a member alone.
func (c *Cluster) KillEtcd(i int) error { return c.members[i].etcd.kill() }

// StartEtcd starts it again.
func (c *Cluster) StartEtcd(i int) error { return c.members[i].etcd.Again() }

// Switchover asks Patroni to let another member lead, as an operator plans it. Patroni refuses while no standby is known to
// it as a synchronous one, which it may be some seconds after one streams: then it is asked again.
func (c *Cluster) Switchover() error {
	leader := c.Leader()
	if leader < 0 {
		return errors.New("nobody leads")
	}
	body := fmt.Sprintf(`{"leader": %q}`, c.members[leader].machine.name)
	var refused error
	err := c.await("a switchover", func() error {
		status, said, err := c.post(c.patroni(leader, "/switchover"), body)
		if strings.Contains(said, "sync_standby") {
			return errors.New(said)
		}
		if refused = err; err == nil && status != http.StatusOK {
			refused = fmt.Errorf("switchover: %d: %s", status, said)
		}
		return nil
	})
	return errors.Join(err, refused)
}

// post sends JSON to a server that may take its time.
func (c *Cluster) post(url, body string) (status int, said string, err error) {
	patient := &http.Client{Timeout: daemon.Timeout, Transport: c.client.Transport}
	res, err := patient.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// RestartPgbouncer kills the pooler and starts it again.
func (c *Cluster) RestartPgbouncer() error {
	return errors.Join(c.pgbouncer.kill(), c.pgbouncer.Again())
}

// KillNode ends a node as a crash does.
func (c *Cluster) KillNode(i int) error { return c.nodes[i].kill() }

// StartNode starts it again, and returns when it serves.
func (c *Cluster) StartNode(i int) error { return errors.Join(c.nodes[i].Again(), c.AwaitNode(i)) }

// AwaitNode returns when a node serves.
func (c *Cluster) AwaitNode(i int) error {
	err := c.await("a node serves", func() error { return c.ask(c.NodeURL(i) + "/readyz") })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.nodes[i].Log())
	}
	return nil
}

// redisDo runs a command on a Redis or a Sentinel.
func (c *Cluster) redisDo(i, port int, command string, args ...any) (any, error) {
	options := []redis.DialOption{redis.DialReadTimeout(daemon.Timeout)}
	if port == 6379 {
		options = append(options, redis.DialPassword(c.password))
	}
	conn, err := redis.Dial("tcp", c.at(redisMachine(i).host, port), options...)
	if err != nil {
		return nil, err
	}
	reply, err := conn.Do(command, args...)
	return reply, errors.Join(err, conn.Close())
}

// AwaitRedis is for after a fault: one Redis is the master, and the others follow it. One that comes back takes itself for
// the master until a Sentinel tells it otherwise.
func (c *Cluster) AwaitRedis() error {
	return c.await("one Redis leads, and the others follow", func() error {
		masters, followers := 0, 0
		for i := range size {
			switch role, state := c.redisRole(i); {
			case role == "master":
				masters++
			case role == "slave" && state == "connected":
				followers++
			}
		}
		if masters != 1 || followers != size-1 {
			return fmt.Errorf("%d lead, and %d follow", masters, followers)
		}
		return nil
	})
}

// redisRole returns what a Redis is, and of one that follows the state of its link; nothing while it does not answer.
func (c *Cluster) redisRole(i int) (role, state string) {
	reply, err := redis.Values(c.redisDo(i, 6379, "ROLE"))
	if err != nil || len(reply) == 0 {
		return "", ""
	}
	if role, _ = redis.String(reply[0], nil); role == "slave" && len(reply) > 3 {
		state, _ = redis.String(reply[3], nil)
	}
	return role, state
}

// awaitSentinels returns when each Sentinel knows both replicas and both others.
func (c *Cluster) awaitSentinels() error {
	return c.await("the Sentinels know each other", func() error {
		for i := range size {
			for _, what := range []string{"replicas", "sentinels"} {
				known, err := redis.Values(c.redisDo(i, 26379, "SENTINEL", what, "sheaf"))
				if err != nil || len(known) != size-1 {
					return errors.Join(err, fmt.Errorf("it knows %d %s", len(known), what))
				}
			}
		}
		return nil
	})
}

// RedisMaster returns which Redis takes writes, -1 for none.
func (c *Cluster) RedisMaster() int {
	for i := range size {
		if role, _ := c.redisRole(i); role == "master" {
			return i
		}
	}
	return -1
}

// KillRedis ends a Redis; StartRedis starts it again, as whatever the Sentinels then make of it.
func (c *Cluster) KillRedis(i int) error { return c.redis[i].kill() }

// StartRedis starts a Redis that was killed.
func (c *Cluster) StartRedis(i int) error { return c.redis[i].Again() }

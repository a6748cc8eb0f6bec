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

// await calls ask until it returns nil. After a very long time it returns the last error.
func (c *Cluster) await(what string, ask func() error) (err error) {
	if sheaftest.Within(daemon.Timeout, func() bool { err = ask(); return err == nil }) {
		return nil
	}
	return fmt.Errorf("never came: %s: %w", what, err)
}

// ask returns an error unless the answer is 200.
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

// patroni returns an address of a member's Patroni.
func (c *Cluster) patroni(member int, path string) string {
	return "http://" + c.at(c.members[member].machine.host, 8008) + path
}

// Leader returns the number of the leader; -1 if there is none.
func (c *Cluster) Leader() int {
	for i := range c.members {
		if c.ask(c.patroni(i, "/primary")) == nil {
			return i
		}
	}
	return -1
}

// AwaitLeader blocks until a member other than `other` is the leader, and returns it. -1 means any
// member.
func (c *Cluster) AwaitLeader(other int) (leader int, err error) {
	err = c.await("a leader", func() error {
		if leader = c.Leader(); leader < 0 || leader == other {
			return errors.New("nobody leads yet")
		}
		return nil
	})
	return leader, err
}

// awaitMembers blocks until one member leads and the others follow it. If COMMIT waits for a
// standby, it also waits until Patroni lists a synchronous standby. Patroni records that in etcd
// some seconds after COMMIT has begun to wait: if the leader fails in between, no other member may
// become the leader until it is back.
func (c *Cluster) awaitMembers() error {
	return c.await("a leader and two standbys", func() error {
		leader := c.Leader()
		if leader < 0 {
			return errors.New("nobody leads yet")
		}
		heirs := 0
		for i := range size {
			if i != leader {
				// A member in pg_rewind does not stream, while another may be listed twice.
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

// AwaitMembers blocks until all members work again after a fault.
func (c *Cluster) AwaitMembers() error { return c.awaitMembers() }

// following returns the number of standbys that stream from the leader, and of synchronous ones.
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
	names := map[string]bool{} // a member whose connection broke may be listed twice for a while
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

// KillMember kills etcd, Patroni and PostgreSQL of a member, as in a power failure.
func (c *Cluster) KillMember(i int) error {
	return errors.Join(c.members[i].patroni.kill(), c.members[i].etcd.kill())
}

// StartMember starts a killed member again, with the same files.
func (c *Cluster) StartMember(i int) error {
	return errors.Join(c.members[i].etcd.Again(), c.members[i].patroni.Again())
}

// FreezeMember suspends all processes of a member.
func (c *Cluster) FreezeMember(i int) error {
	return errors.Join(c.members[i].patroni.freeze(), c.members[i].etcd.freeze())
}

// ThawMember resumes them.
func (c *Cluster) ThawMember(i int) error {
	return errors.Join(c.members[i].etcd.thaw(), c.members[i].patroni.thaw())
}

// KillEtcd kills only the etcd of a member.
func (c *Cluster) KillEtcd(i int) error { return c.members[i].etcd.kill() }

// StartEtcd starts it again.
func (c *Cluster) StartEtcd(i int) error { return c.members[i].etcd.Again() }

// Switchover asks Patroni to make another member the leader, as an operator would. Patroni refuses
// until it lists a synchronous standby, some seconds after the standby streams. Then Switchover
// asks again.
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

// post sends JSON to a server that may answer late.
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

// KillNode kills a node, as in a crash.
func (c *Cluster) KillNode(i int) error { return c.nodes[i].kill() }

// StartNode starts it again, and blocks until it serves.
func (c *Cluster) StartNode(i int) error { return errors.Join(c.nodes[i].Again(), c.AwaitNode(i)) }

// AwaitNode blocks until a node serves.
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

// AwaitRedis blocks until, after a fault, one Redis is the master and the others follow it. A Redis
// that comes back acts as a master until a Sentinel reconfigures it.
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

// redisRole returns the role of a Redis, and the state of a replica's link; empty texts if it does
// not answer.
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

// awaitSentinels blocks until each Sentinel knows both replicas and both other Sentinels.
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

// RedisMaster returns the number of the Redis that accepts writes; -1 for none.
func (c *Cluster) RedisMaster() int {
	for i := range size {
		if role, _ := c.redisRole(i); role == "master" {
			return i
		}
	}
	return -1
}

// KillRedis kills a Redis.
func (c *Cluster) KillRedis(i int) error { return c.redis[i].kill() }

// StartRedis starts a killed Redis again. The Sentinels decide its role.
func (c *Cluster) StartRedis(i int) error { return c.redis[i].Again() }

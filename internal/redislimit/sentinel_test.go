package redislimit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

// D153: with Sentinel, the node finds whichever Redis is the master: after the master has died, and after it has stepped
// down and lives on.
func TestSentinel_TheMasterChanges(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := master.Replica(t)
	w := master.Sentinel(t, 1)
	n := newNode(t, w.URL(), time.Minute)
	n.awaitDegraded(t, false)
	if !n.admit(5) {
		t.Fatal("the first request is refused")
	}

	w.Failover()
	sheaftest.Eventually(t, "the replica is the master", replica.IsMaster)
	sheaftest.Eventually(t, "the node has changed over", func() bool { return counts(n, replica) })

	sheaftest.Eventually(t, "the old master follows", func() bool { return !master.IsMaster() })
	replica.Stop()
	sheaftest.Eventually(t, "the first is the master again", master.IsMaster)
	sheaftest.Eventually(t, "the node has come back", func() bool { return counts(n, master) })
	if n.State().Losses == 0 {
		t.Error("the changes cost nothing: the node has not noticed them")
	}
}

// counts reports whether what the node admits is counted by the server.
func counts(n *node, s *redistest.Server) bool {
	n.admit(1 << 20)
	return !n.State().Degraded && s.IsMaster() && s.Do("EXISTS", keyPrefix+"k").(int64) == 1
}

// D153: what is wrong with an address of Sentinels is said without repeating it.
func TestSentinel_Addresses(t *testing.T) {
	s, err := parseSentinels("redis-sentinel://u:hunter2@a:1,b,c:3/2?master=sheaf")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.at("m:6379"); !slices.Equal(s.hosts, []string{"a:1", "b:26379", "c:3"}) || s.master != "sheaf" || got != "redis://u:hunter2@m:6379/2" {
		t.Errorf("hosts %v, master %q, address %q", s.hosts, s.master, got)
	}
	if s, err := parseSentinels("rediss-sentinel://h/0?master=m"); err != nil || s.at("m:1") != "rediss://m:1/0" {
		t.Errorf("TLS: %v", err)
	}
	for _, address := range []string{
		"redis-sentinel://:hunter2@h:1", "redis-sentinel://:hunter2@h:1/0?master=", "redis-sentinel://:hunter2@h:1/0?master=m&x=1",
		"redis-sentinel://:hunter2@/0?master=m", "redis-sentinel://:hunter2@h:1,/0?master=m", "redis-sentinel://:hunter2@h:1/x?master=m",
		"redis-sentinel://:hunter2@h:1/0?master=m#f", "redis-sentinel://%zz:hunter2@h", "redis-sentinels://:hunter2@h:1/0?master=m",
	} {
		err := checkURL(address)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line without the password", address, err)
		}
	}
}

// D153: a Sentinel that does not answer, or knows of another master only, is passed over.
func TestSentinel_AnotherIsAsked(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	good := master.Sentinel(t, 0)
	gone := redistest.Start(t) // a Redis is no Sentinel
	address := strings.Replace(good.URL(), good.Address(), "127.0.0.1:1,"+gone.Address()+","+good.Address(), 1)
	n := newNode(t, address, time.Minute)
	if n.State().Degraded || !n.admit(1) {
		t.Errorf("%+v: %s", n.State(), n.log.String())
	}
	wrong := newNode(t, strings.Replace(good.URL(), "master="+redistest.MasterName, "master=other", 1), time.Minute)
	if !wrong.State().Degraded || wrong.said("knows no master") == 0 {
		t.Errorf("a master that nobody knows: %+v: %s", wrong.State(), wrong.log.String())
	}
}

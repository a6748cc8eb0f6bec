package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// idleTenants is how many workspaces do nothing, each with an event and a webhook; fewTenants is how many the
	// control has.
	idleTenants, fewTenants = 100_000, 100
	// idleStreams is how many event streams, and how many pages of the console, are open with nothing to show;
	// streamsFor is how long they are watched.
	idleStreams = 1_000
	streamsFor  = 60 * time.Second
	// idleFor is how long they are watched: two sweeps, and part of each round.
	idleFor = 130 * time.Second
	// After a start, search builds an index of each workspace. That work counts as done when the server takes
	// less than quietBelow of a core. It must be done within quietWithin.
	quietBelow  = 0.05
	quietWithin = 20 * time.Minute
)

// idleRows measures the processor time of a server, with its PostgreSQL, whose workspaces all do nothing.
func (b *bench) idleRows() error {
	return b.onEngines(func(engine string) error {
		r := b.begin(row{Work: "idle workspaces, " + engine, Group: "process", Unit: "% of a core"})
		for _, n := range []int{fewTenants, idleTenants} {
			share, err := b.idleOn(engine, n)
			if err != nil {
				return err
			}
			r.figure(fmt.Sprint(n)).add(sample{value: 100 * share})
		}
		more := r.figure(fmt.Sprint(idleTenants)).Median - r.figure(fmt.Sprint(fewTenants)).Median
		r.atMost(1, more, "100,000 idle workspaces cost ≤ 1 % of a core more than 100")
		b.keep(r)
		return nil
	})
}

// streamRows measures the processor time of a server, with its PostgreSQL, whose event streams and pages of the
// console are open, each in a workspace of its own, and have nothing to show.
func (b *bench) streamRows() error {
	return b.onEngines(func(engine string) error {
		r := b.begin(row{Work: "idle streams and pages, " + engine, Group: "process", Unit: "% of a core"})
		s, err := b.startIdle(engine, "streams")
		if err != nil {
			return err
		}
		owners, err := seed(s.store, size{owners: idleStreams})
		if err != nil {
			return err
		}
		tokens, err := seedSessions(s.store, owners)
		if err != nil {
			return err
		}
		if err := s.serve(b); err != nil {
			return err
		}
		r.figure("0").add(sample{value: 100 * s.share(streamsFor)})
		for i, o := range owners {
			for _, request := range []string{
				"GET /api/v1/events/stream HTTP/1.1\r\nHost: " + s.addr + "\r\nAuthorization: Bearer " + o.Token + "\r\n\r\n",
				"GET /w/" + string(o.Workspace) + "/live HTTP/1.1\r\nHost: " + s.addr + "\r\nCookie: " + tokens.cookie(s.addr, i) + "\r\n\r\n",
			} {
				conn, err := openStream(s.addr, request)
				if err != nil {
					return err
				}
				defer conn.Close()
			}
		}
		r.figure(fmt.Sprint(2 * idleStreams)).add(sample{value: 100 * s.share(streamsFor)})
		more := r.figure(fmt.Sprint(2*idleStreams)).Median - r.figure("0").Median
		r.atMost(1, more, "1,000 idle event streams and 1,000 idle pages cost ≤ 1 % of a core")
		b.keep(r)
		return s.stop()
	})
}

// onEngines measures on SQLite, and on PostgreSQL unless the run is a quick one.
func (b *bench) onEngines(measure func(engine string) error) error {
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		if engine == "PostgreSQL" && !b.postgres && b.quick {
			continue
		}
		if err := measure(engine); err != nil {
			return err
		}
	}
	return nil
}

// idleOn returns the share of a core that a server of n idle workspaces takes.
func (b *bench) idleOn(engine string, n int) (float64, error) {
	s, err := b.startIdle(engine, fmt.Sprint(n))
	if err != nil {
		return 0, err
	}
	if err := seedIdle(s.store, n); err != nil {
		return 0, err
	}
	if err := s.serve(b); err != nil {
		return 0, err
	}
	idle := s.share(idleFor)
	return idle, s.stop()
}

// idleServer is a server whose workspaces do nothing, and its store.
type idleServer struct {
	*process
	name, data string
	store      store.Options
	postmaster int // 0 on SQLite
}

// startIdle makes an empty store on that engine.
func (b *bench) startIdle(engine, name string) (*idleServer, error) {
	s := &idleServer{name: "idle-" + engine + "-" + name}
	s.data = b.dataDir(s.name)
	if engine == "SQLite" {
		s.store.Folder = s.data
		return s, os.Mkdir(s.data, 0o700)
	}
	url, err := b.startPostgres()
	s.store.DatabaseURL, s.postmaster = url, b.postmaster
	return s, err
}

// serve starts the server, and returns when it has done what it does after a start.
func (s *idleServer) serve(b *bench) (err error) {
	var more []string
	if s.store.DatabaseURL != "" {
		more = []string{"--database-url", s.store.DatabaseURL}
	}
	if s.process, err = b.startSheaf(s.name, s.data, more...); err != nil {
		return err
	}
	for began := time.Now(); s.share(10*time.Second) > quietBelow; {
		if time.Since(began) > quietWithin {
			return fmt.Errorf("the server %s was not quiet within %v of its start", s.name, quietWithin)
		}
	}
	return nil
}

// used returns the processor time of the server and its PostgreSQL so far.
func (s *idleServer) used() time.Duration {
	used := s.cpu()
	if s.postmaster != 0 {
		used += cpuOfTree(s.postmaster)
	}
	return used
}

// share returns the share of a core that the server takes for the time d.
func (s *idleServer) share(d time.Duration) float64 {
	used := s.used()
	time.Sleep(d) // what is measured
	return float64(s.used()-used) / float64(d)
}

// stop ends the server, and removes its data.
func (s *idleServer) stop() error {
	return errors.Join(s.process.stop(), os.RemoveAll(s.data))
}

// sessions are the tokens of signed-in browsers.
type sessions []string

// cookie returns the cookie of a browser, as the console at that address names it.
func (s sessions) cookie(addr string, i int) string {
	_, port, _ := net.SplitHostPort(addr)
	return "sheaf-" + port + "=" + s[i]
}

// seedSessions signs the owner of each workspace in.
func seedSessions(o store.Options, owners []owner) (tokens sessions, err error) {
	ctx := context.Background()
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, o := range owners {
		var user sheaf.UserID
		err := st.Read(ctx, func(r *store.Reader) (err error) {
			user, err = r.OwnerOf(o.Workspace)
			return err
		})
		if err != nil {
			return nil, err
		}
		token := rand.Text()
		hash := sha256.Sum256([]byte(token))
		err = st.Write(ctx, func(tx *store.Tx) error {
			return tx.InsertSession(store.Session{Hash: hash[:], User: user, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(24 * time.Hour)})
		})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// openStream sends a request for a stream, checks that it begins, and reads it until it is closed.
func openStream(addr, request string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		return nil, fmt.Errorf("a stream was answered with %q: %w", status, err)
	}
	go io.Copy(io.Discard, r)
	return conn, nil
}

// seedIdle makes workspaces with an event and a webhook that did not want this event.
func seedIdle(o store.Options, n int) error {
	ctx := context.Background()
	if err := store.Migrate(ctx, o); err != nil {
		return err
	}
	st, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer st.Close()
	all := make([]int, n)
	for some := range slices.Chunk(all, 500) {
		if err := st.Write(ctx, func(tx *store.Tx) error {
			for range some {
				if err := seedIdleOne(tx); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func seedIdleOne(tx *store.Tx) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id := sheaf.WorkspaceID(newID(now))
	if err := tx.InsertWorkspace(sheaf.Workspace{ID: id, Name: "Idle", Plan: sheaf.Business, CreatedAt: now}); err != nil {
		return err
	}
	w, err := tx.LockWorkspace(id)
	if err != nil {
		return err
	}
	w.LastNumber++
	hook := sheaf.Subscription{ID: sheaf.SubscriptionID(newID(now)), Name: "idle", URL: "https://example.com/", Events: []sheaf.EventType{sheaf.ShareDeleted},
		Active: true, Number: w.LastNumber, Revision: 1, CreatedAt: now, UpdatedAt: now}
	if err := tx.InsertSubscription(id, hook, store.Sealed{Secret: []byte("x")}); err != nil {
		return err
	}
	w.Subscriptions++
	e := sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + newID(now)), Type: sheaf.MediaUploaded, ResourceID: newID(now), At: now, Body: []byte("{}")}
	if err := tx.AppendEvents(&w, []sheaf.Event{e}); err != nil {
		return err
	}
	w.Version = max(w.Version+1, now.UnixMicro())
	return tx.SaveWorkspace(w)
}

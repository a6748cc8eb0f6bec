package redislimit

import (
	"context"
	"time"
)

// Run tells Redis that this node is alive and, when Redis was lost, tries to reach it again, until ctx ends: then it
// takes the node off the list and returns nil.
func (l *Limiter) Run(ctx context.Context) error {
	probe, swept := firstProbe, l.Now()
	timer := time.NewTimer(beatEvery)
	defer timer.Stop()
	for {
		delay := beatEvery
		if l.server.Load() == nil {
			delay = probe
			probe = min(2*probe, lastProbe)
		} else if l.Now().Sub(l.State().Since) > stableAfter {
			probe = firstProbe
		}
		timer.Reset(delay)
		select {
		case <-ctx.Done():
			l.leave()
			return nil
		case <-l.lost:
			continue
		case <-timer.C:
			l.runOnce()
		}
		if now := l.Now(); now.Sub(swept) > sweepEvery {
			swept = now
			l.local.Sweep(l.localTime(now))
			l.guard.Sweep(l.guardTime(now))
		}
	}
}

// runOnce beats, or tries to reach Redis again.
func (l *Limiter) runOnce() {
	server := l.server.Load()
	if server == nil {
		_ = l.reach() // the log has it from when Redis was lost
		return
	}
	if err := l.sync(server); err != nil {
		l.lose(server, err)
	}
}

// reach connects to Redis, tells it what was admitted without it, and asks it from now on. What is admitted alone
// while it is being told is told at the next beat.
func (l *Limiter) reach() error {
	server, err := connect(l.URL, l.budget, l.window)
	if err != nil {
		return err
	}
	if err := l.sync(server); err != nil {
		server.close()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.Now(); l.state.Degraded {
		l.Log.Info("reached Redis again", "after", now.Sub(l.state.Since), "nodes", l.state.Nodes)
		l.state.Degraded, l.state.Since = false, now
	}
	l.server.Store(server)
	return nil
}

// sync beats once, and tells Redis the admissions that it has not heard of, or has lost.
func (l *Limiter) sync(server *server) error {
	b, err := server.beat(l.NodeID, aliveFor, keptFor)
	if err != nil {
		return err
	}
	forgot := l.forgot(b)
	if err := l.tell(server, forgot, b); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastBeat = b.at
	if l.state.Degraded || l.Now().Sub(l.state.Since) < aliveFor {
		l.state.Nodes = max(l.state.Nodes, b.nodes) // the others may not be back yet
	} else {
		l.state.Nodes = max(1, b.nodes)
	}
	if forgot {
		l.state.Restored++
		l.Log.Warn("told Redis again what was admitted, since it had lost its data", "nodes", b.nodes)
	}
	return nil
}

// forgot tells whether Redis has lost data since this node's last beat: it then knows of an older one or of none. A
// beat is kept for so long that none of the admissions before it counts any more when it is dropped.
func (l *Limiter) forgot(b beat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return b.last < l.lastBeat
}

func (l *Limiter) tell(server *server, all bool, b beat) error {
	if err := server.merge(l.journal.times(all, l.Now(), b.at)); err != nil {
		return err
	}
	l.journal.told()
	return nil
}

// lose begins to count alone, and says so once. Only the first failure on a connection counts: requests that were
// under way may fail on it when Redis has been reached again on another.
func (l *Limiter) lose(server *server, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Degraded || !l.server.CompareAndSwap(server, nil) {
		return
	}
	if server != nil {
		server.close()
	}
	l.state.Degraded, l.state.Since = true, l.Now()
	l.state.Losses++
	l.Log.Warn("lost Redis, limits requests by this node's share alone", "error", err, "nodes", l.state.Nodes)
	select {
	case l.lost <- struct{}{}:
	default:
	}
}

// leave is a courtesy: the beat would expire by itself.
func (l *Limiter) leave() {
	server := l.server.Load()
	if server == nil {
		return
	}
	if err := server.leave(l.NodeID); err != nil {
		l.Log.Warn("could not take this node off the list", "error", err)
	}
}

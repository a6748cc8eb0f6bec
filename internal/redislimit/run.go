package redislimit

import (
	"context"
	"time"
)

// Run tells Redis that this node is alive and, when Redis was lost, tries to reach it again, until
// ctx ends: then it takes the node off the list and returns nil.
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
			l.local.Sweep(now)
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

// reach connects to Redis, and asks it from now on.
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

// sync beats once. It reads how many nodes there are and whether Redis has lost its data.
//
// Redis has lost its data if it returns an older beat of this node than the last one, or none. A
// beat is kept until no admission before it counts any more.
//
// The number of nodes does not fall while Redis is lost, for aliveFor after its return, or while the
// node keeps to its share because Redis has lost its data: nodes that have not beaten since would
// be missing, and the share would be too large.
func (l *Limiter) sync(server *server) error {
	b, err := server.beat(l.NodeID, aliveFor, keptFor)
	if err != nil {
		return err
	}
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	lostData := b.last < l.lastBeat
	if lostData {
		l.sharesUntil = now.Add(l.window)
	}
	if l.state.Degraded || now.Sub(l.state.Since) < aliveFor || now.Before(l.sharesUntil) {
		l.state.Nodes = max(l.state.Nodes, b.nodes) // the others may not have beaten yet
	} else {
		l.state.Nodes = max(1, b.nodes)
	}
	if lostData {
		l.Log.Warn("Redis has lost its data, limits requests by this node's share too for a minute", "nodes", l.state.Nodes)
	}
	l.lastBeat = b.at
	return nil
}

// lose begins to count alone, and says so once. Only the first failure on a connection counts:
// requests that were under way may fail on it when Redis has been reached again on another.
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

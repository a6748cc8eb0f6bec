package redislimit

import (
	"sync"
	"time"

	"sheaf.dev/internal/ratewindow"
)

// journalMost bounds the journal: 8 MiB. Beyond it the oldest admissions are no longer told to a Redis that lost them.
const journalMost = 1 << 17

// journal has the node's own admissions of the last window, oldest first: those that Redis has not heard of, and those
// it would have to hear of again if it lost its data.
type journal struct {
	window time.Duration

	mu      sync.Mutex // guards all below
	entries []entry
	first   int // index of the oldest that counts
	alone   int // how many are unknown to Redis
	stamp   int64
}

type entry struct {
	key    string
	group  string    // empty if it has none
	at     time.Time // by the node's clock
	redis  int64     // by Redis' clock, 0 while unknown
	shared bool      // Redis has heard of it
}

// add notes an admission; redis is 0 if it was made without Redis.
func (j *journal) add(key string, in ratewindow.Group, at time.Time, redis int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.first < len(j.entries) && (at.Sub(j.entries[j.first].at) > j.window || len(j.entries)-j.first >= journalMost) {
		j.drop()
	}
	if j.first > 64 && j.first > len(j.entries)/2 {
		n := copy(j.entries, j.entries[j.first:])
		clear(j.entries[n:])
		j.entries, j.first = j.entries[:n], 0
	}
	if redis == 0 {
		j.alone++
	}
	if in.Ceiling <= 0 {
		in.Name = ""
	}
	j.entries = append(j.entries, entry{key: key, group: in.Name, at: at, redis: redis, shared: redis != 0})
}

func (j *journal) drop() {
	if !j.entries[j.first].shared {
		j.alone--
	}
	j.entries[j.first] = entry{}
	j.first++
}

// times returns, by key and by group, the admissions that Redis has not heard of, or all of them; offset is Redis' clock when the
// node's says at. An admission without a time of Redis gets one here, for good: telling it again is harmless.
func (j *journal) times(all bool, at time.Time, offset int64) map[string][]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !all && j.alone == 0 {
		return nil
	}
	times := make(map[string][]int64)
	for i := j.first; i < len(j.entries); i++ {
		e := &j.entries[i]
		if e.shared && !all || at.Sub(e.at) > j.window {
			continue
		}
		if e.redis == 0 {
			j.stamp = max(j.stamp+1, offset-at.Sub(e.at).Microseconds()) // two of one key must differ
			e.redis = j.stamp
		}
		times[e.key] = append(times[e.key], e.redis)
		if e.group != "" {
			times[e.group] = append(times[e.group], e.redis)
		}
	}
	return times
}

// told marks what times has returned as known to Redis.
func (j *journal) told() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := j.first; i < len(j.entries) && j.alone > 0; i++ {
		if e := &j.entries[i]; !e.shared && e.redis != 0 {
			e.shared = true
			j.alone--
		}
	}
}

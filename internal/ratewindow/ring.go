package ratewindow

// ring is a queue of admission times, oldest first, that grows as it is used.
type ring struct {
	times []int64
	first int // index of the oldest
	n     int
}

// at returns the i-th oldest time.
func (r *ring) at(i int) int64 {
	i += r.first
	if i >= len(r.times) {
		i -= len(r.times)
	}
	return r.times[i]
}

// newest returns the latest time that was ever pushed. There must have been one.
func (r *ring) newest() int64 {
	if r.n > 0 {
		return r.at(r.n - 1)
	}
	return r.at(len(r.times) - 1) // the place before first
}

// push adds a time, which is not before any other. The ring grows by doubling, but not beyond
// limit, unless it holds as many already.
func (r *ring) push(at int64, limit int) {
	if r.n == len(r.times) {
		times := make([]int64, max(min(max(2*r.n, 4), limit), r.n+1))
		k := copy(times, r.times[r.first:])
		copy(times[k:], r.times[:r.first])
		r.times, r.first = times, 0
	}
	i := r.first + r.n
	if i >= len(r.times) {
		i -= len(r.times)
	}
	r.times[i] = at
	r.n++
}

// until counts the times that are not after t.
func (r *ring) until(t int64) int {
	n := 0
	for n < r.n && r.at(n) <= t {
		n++
	}
	return n
}

// drop removes the n oldest times.
func (r *ring) drop(n int) {
	r.n -= n
	r.first += n
	if r.first >= len(r.times) {
		r.first -= len(r.times)
	}
}

package sheaf

import "time"

// TookBounds are the inclusive upper bounds of the classes in which attempts are counted by
// duration. The last class has all longer ones.
var TookBounds = [...]time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second}

// Counts is what happened in a span of time, for charts. Counts are up to about ten seconds late,
// and a process that dies loses those of its last ten seconds.
type Counts struct {
	Requests    int64                      // to the API, with a valid key
	RateLimited int64                      // requests among these that the rate limit refused
	Delivered   int64                      // attempts that arrived
	Retried     int64                      // attempts after which the schedule has another one
	Failed      int64                      // attempts after which it has none
	TookSum     time.Duration              // duration of all attempts together
	TookMax     time.Duration              // duration of the longest attempt
	Took        [len(TookBounds) + 1]int64 // attempts by duration: see TookClass
}

// TookClass returns the index in Counts.Took for an attempt of duration d.
func TookClass(d time.Duration) int {
	for i, bound := range TookBounds {
		if d <= bound {
			return i
		}
	}
	return len(TookBounds)
}

// Add adds the counts of another span of time.
func (c *Counts) Add(o Counts) {
	c.Requests += o.Requests
	c.RateLimited += o.RateLimited
	c.Delivered += o.Delivered
	c.Retried += o.Retried
	c.Failed += o.Failed
	c.TookSum += o.TookSum
	c.TookMax = max(c.TookMax, o.TookMax)
	for i := range c.Took {
		c.Took[i] += o.Took[i]
	}
}

// Attempts returns the number of attempts.
func (c *Counts) Attempts() (n int64) {
	for _, k := range c.Took {
		n += k
	}
	return n
}

// Percentile returns a duration that p of a hundred attempts did not exceed, as exactly as the
// classes allow. It returns 0 if there were no attempts.
func (c *Counts) Percentile(p int64) time.Duration {
	want, seen := (c.Attempts()*p+99)/100, int64(0)
	for i, k := range c.Took {
		if seen += k; seen >= want && k > 0 {
			if i == len(TookBounds) {
				return c.TookMax
			}
			return min(TookBounds[i], c.TookMax)
		}
	}
	return 0
}

// Minute has the counts of one minute of a workspace.
type Minute struct {
	At time.Time // its start
	Counts
}

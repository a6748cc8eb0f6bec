package sheaf

import "time"

// TookBounds are the upper ends, inclusive, of the classes in which attempts are counted by how
// long they took; the last class is all above.
var TookBounds = [...]time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second}

// Counts are what happened in some time, for charts. They are good to about ten seconds, and a
// process that dies takes those of its last ten along.
type Counts struct {
	Requests    int64                      // to the API, with a valid key
	RateLimited int64                      // of these, those that the rate limit refused
	Delivered   int64                      // attempts whose endpoint took the event
	Retried     int64                      // attempts after which the schedule has another one
	Failed      int64                      // attempts after which it has none
	TookSum     time.Duration              // of all attempts together
	TookMax     time.Duration              // of the longest one
	Took        [len(TookBounds) + 1]int64 // attempts by how long they took: see TookClass
}

// TookClass is the index in Counts.Took of attempts that took so long.
func TookClass(d time.Duration) int {
	for i, bound := range TookBounds {
		if d <= bound {
			return i
		}
	}
	return len(TookBounds)
}

// Add adds what happened in another time, so that c is of both.
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

// Attempts is how many attempts were made.
func (c *Counts) Attempts() (n int64) {
	for _, k := range c.Took {
		n += k
	}
	return n
}

// Percentile is a duration that so many of a hundred attempts did not exceed, as exactly as the
// classes tell; 0 when there were none.
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

// Minute are the counts of one minute of a workspace.
type Minute struct {
	At time.Time // its beginning
	Counts
}

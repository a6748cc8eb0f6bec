package pgtest

import (
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
)

// Copies returns copies of one prepared database, which is much faster than preparing each. Set
// Prepare; it is meant for a package variable.
type Copies struct {
	// Prepare fills the empty database at the URL, and leaves no connection open.
	Prepare func(url string) error

	once     sync.Once
	template string // its name; empty if every database is prepared separately
	err      error
}

// URL returns the URL of a prepared database, which is dropped when the test ends. It skips the
// test as URL does.
func (c *Copies) URL(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	c.once.Do(func() { c.err = c.makeTemplate(server) })
	if c.err != nil {
		t.Fatalf("prepare the template of the tests' databases: %v", c.err)
	}
	if c.template != "" {
		return create(t, server, c.template)
	}
	url := create(t, server, emptyTemplate)
	if err := c.Prepare(url); err != nil {
		t.Fatalf("prepare the test's database: %v", err)
	}
	return url
}

// makeTemplate prepares the template. On a cluster that outlives the run it makes none, because it
// would stay there.
func (c *Copies) makeTemplate(server string) error {
	if os.Getenv(EnvURL) != "" && os.Getenv(EnvEnds) != "1" {
		return nil
	}
	name := "sheaf_template_" + strings.ToLower(rand.Text())
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE "+emptyTemplate); err != nil {
		return err
	}
	c.template = name
	return c.Prepare(withDatabase(server, name))
}

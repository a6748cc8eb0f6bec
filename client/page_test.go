package client_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"sheaf.dev/client"
)

// numbered answers with a list of `total` records, and records the requests.
func numbered(total int, asked *[]string) transport {
	return func(r *http.Request) (*http.Response, error) {
		*asked = append(*asked, r.URL.RawQuery)
		q := r.URL.Query()
		limit, _ := strconv.Atoi(q.Get("limit"))
		from, _ := strconv.Atoi(q.Get("offset"))
		count := total
		if after, found := strings.CutPrefix(q.Get("after"), "evt_"); found {
			from, _ = strconv.Atoi(after)
			count -= from
		}
		var items []string
		for i := from; i < min(total, from+limit); i++ {
			items = append(items, fmt.Sprintf(`{"id":"evt_%d"}`, i+1))
		}
		offset, _ := strconv.Atoi(q.Get("offset"))
		return answer(r, 200, fmt.Sprintf(`{"data":[%s],"total":%d,"limit":%d,"offset":%d}`, strings.Join(items, ","), count, limit, offset)), nil
	}
}

// A request costs a part of the rate limit: none is made to learn what the
// total has told.
func TestAll_AsksForNoPageTooMany(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]int{0: 1, 1: 1, 99: 1, 100: 1, 101: 2, 200: 2, 201: 3} {
		var asked []string
		c := offline(t, numbered(total, &asked))
		if got := collect(t, c.Projects.All(t.Context(), client.ProjectFilter{})); len(got) != total || len(asked) != want {
			t.Errorf("%d projects: got %d in %q", total, len(got), asked)
		}
		asked = nil
		if got := collect(t, c.Events.All(t.Context(), client.EventFilter{})); len(got) != total || len(asked) != want {
			t.Errorf("%d events: got %d in %q", total, len(got), asked)
		}
		if want > 1 && asked[1] != "after=evt_100&limit=100" {
			t.Errorf("the second page of events is asked for by %q", asked[1])
		}
	}
}

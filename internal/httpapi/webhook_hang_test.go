package httpapi_test

import (
	"context"
	"sync"
	"testing"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// Tests whose endpoints hang hold no place among the requests in work, are bounded for a
// subscription and a workspace, and leave a third workspace all that it asks for.
func TestWebhook_HangingTestsTakeNothingFromOthers(t *testing.T) {
	t.Parallel()
	made := apitest.SQLite(t)
	const hangs = "https://hangs.example/"
	arrived, hanging := make(chan struct{}, 1000), make(chan struct{})
	release := sync.OnceFunc(func() { close(hanging) })
	defer release()
	a := sending(t, made, guard.New(nil), func(_ context.Context, out sheaf.Outgoing) sheaf.Attempt {
		if out.URL == hangs {
			arrived <- struct{}{}
			<-hanging
		}
		return sheaf.Attempt{StatusCode: 200}
	})
	const keys, calls, perWorkspace = 3, 60, 8
	var answers [2]map[int]int
	var mu sync.Mutex // guards answers
	var asking sync.WaitGroup
	for i := range answers {
		answers[i] = map[int]int{}
		ws := made.Workspace(sheaf.Business)
		var ids []string
		for range 20 {
			ids = append(ids, idOf(subscribe(t, ws.Client(""), fields{"url": hangs})))
		}
		for range keys {
			key := ws.Key()
			for n := range calls {
				asking.Go(func() {
					r := a.Client(key).POST(at(subscriptions, ids[n%len(ids)])+"/test", nil)
					mu.Lock()
					defer mu.Unlock()
					answers[i][r.Status]++
					if r.Status == 429 && (r.JSON["code"] != "RATE_LIMITED" || r.Header.Get("Retry-After") != "1") {
						t.Errorf("refused with %s", r.Body)
					}
				})
			}
		}
	}
	for range len(answers) * perWorkspace {
		<-arrived
	}
	refused := func() int {
		mu.Lock()
		defer mu.Unlock()
		return answers[0][429] + answers[1][429]
	}
	sheaftest.Eventually(t, "all others are refused", func() bool { return refused() >= len(answers)*(keys*calls-perWorkspace) })
	sheaftest.Eventually(t, "no request is in work, though tests wait for their endpoints", func() bool { return a.Front.Load().Working == 0 })
	third := a.Client(made.Workspace(sheaf.Business).Key())
	for range 59 {
		third.GET("/api/v1/projects").Want(t, 200)
	}
	mine := idOf(subscribe(t, third, fields{}))
	third.POST(at(subscriptions, mine)+"/test", nil).Want(t, 200)
	release()
	asking.Wait()
	for i, got := range answers {
		if got[200] != perWorkspace || got[429] != keys*calls-perWorkspace {
			t.Errorf("workspace %d: answers %v, want %d of 200 and the rest 429", i, got, perWorkspace)
		}
	}
}

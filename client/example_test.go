package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"sheaf.dev/client"
)

// exampleServer stands for a Sheaf server; a real program has the address of
// one.
func exampleServer() *httptest.Server {
	project := map[string]any{"id": "0198c0de-0000-7000-8000-000000000001", "name": "Handbook", "created_at": "2026-11-15T10:00:00.000Z"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{project}, "total": 1, "limit": 100, "offset": 0})
	})
	mux.HandleFunc("POST /api/v1/projects", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(project)
	})
	mux.HandleFunc("GET /api/v1/events/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: evt_2\nevent: project.created\ndata: {\"id\":\"evt_2\",\"type\":\"project.created\"}\n\n")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"project not found","code":"NOT_FOUND"}`)
	})
	return httptest.NewServer(mux)
}

func Example() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	c, err := client.New(client.Config{Server: server.URL, Key: "shf_…", HTTP: server.Client()})
	if err != nil {
		panic(err)
	}
	made, err := c.Projects.Create(ctx, client.NewProject{Name: "Handbook", Color: "#2563eb"})
	fmt.Println(made.Name, err)

	for p, err := range c.Projects.All(ctx, client.ProjectFilter{Sort: "name"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.ID, p.Name)
	}

	_, err = c.Projects.Get(ctx, "0198c0de-0000-7000-8000-00000000000f")
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output:
	// Handbook <nil>
	// 0198c0de-0000-7000-8000-000000000001 Handbook
	// true
}

func ExampleEvents_Stream() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(client.Config{Server: server.URL, Key: "shf_…", HTTP: server.Client()})
	if err != nil {
		panic(err)
	}
	// Begin behind the event that was handled last.
	for e, err := range c.Events.Stream(context.Background(), client.EventFilter{After: "evt_1"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.ID, e.Type)
		break
	}
	// Output: evt_2 project.created
}

func ExampleOpt() {
	change := client.ProjectChange{
		Name:        client.Set("Manual"),  // changed
		Description: client.Null[string](), // cleared
		// Icon, Color and the others stay as they are.
	}
	b, _ := json.Marshal(change)
	fmt.Println(string(b))
	// Output: {"name":"Manual","description":null}
}

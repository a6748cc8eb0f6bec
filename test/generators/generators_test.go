//go:build clients

// Package generators runs the tools that make clients of an OpenAPI document over ours, and the Postman collection against
// a server. It needs npm and minutes, so it is part of make clients and not of ./scripts/test.
package generators

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

const (
	document   = "../../internal/httpapi/openapi.yaml"
	collection = "../../docs/recipes/postman.json"
	oapi       = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.1"
	runtime    = "github.com/oapi-codegen/runtime@v1.8.0"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// run runs a command in a folder and returns what it printed.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tools installs what npm/package-lock.json names, and returns the folder.
func tools(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("npm", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	return folder
}

func TestGenerators_GoCompiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run(t, folder, "go", "mod", "init", "example.com/generated")
	run(t, folder, "go", "run", oapi, "-generate", "types,client", "-package", "generated", "-o", "api.gen.go", absolute(t, document))
	run(t, folder, "go", "get", runtime)
	run(t, folder, "go", "mod", "tidy")
	run(t, folder, "go", "vet", "./...")
}

func TestGenerators_FromNPM(t *testing.T) {
	t.Parallel()
	folder := tools(t)
	bin := func(name string) string { return filepath.Join(folder, "node_modules", ".bin", name) }
	strict := []string{"--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,dom.iterable",
		"--module", "esnext", "--moduleResolution", "bundler"}
	t.Run("openapi-typescript", func(t *testing.T) {
		run(t, folder, bin("openapi-typescript"), absolute(t, document), "-o", "types.ts")
		run(t, folder, bin("tsc"), append(strict, "types.ts")...)
	})
	t.Run("hey-api", func(t *testing.T) {
		run(t, folder, bin("openapi-ts"), "-i", absolute(t, document), "-o", "hey")
		run(t, folder, bin("tsc"), append(strict, "hey/index.ts")...)
	})
	t.Run("openapi-to-postmanv2", func(t *testing.T) {
		run(t, folder, bin("openapi2postmanv2"), "-s", absolute(t, document), "-o", "postman.json")
		made, err := os.ReadFile(filepath.Join(folder, "postman.json"))
		if err != nil || !strings.Contains(string(made), "http://127.0.0.1:8080") {
			t.Errorf("the collection has no address that can be asked (%v)", err)
		}
	})
	t.Run("our Postman collection", func(t *testing.T) {
		program := proctest.New(t)
		key := program.Workspace(t, "business")
		server := program.Start(t, "--rate-limit", "business=0")
		report := filepath.Join(folder, "report.json")
		run(t, folder, bin("newman"), "run", withoutStream(t, folder), "--env-var", "baseUrl="+server.URL, "--env-var", "apiKey="+key,
			"--reporters", "json", "--reporter-json-export", report, "--ignore-redirects")
		checkReport(t, report)
	})
}

// withoutStream returns a copy of the collection without the request that never ends.
func withoutStream(t *testing.T, folder string) string {
	t.Helper()
	b, err := os.ReadFile(collection)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Info, Auth, Variable json.RawMessage
		Item                 []struct {
			Name string            `json:"name"`
			Item []json.RawMessage `json:"item"`
		} `json:"item"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all.Item {
		all.Item[i].Item = slices.DeleteFunc(all.Item[i].Item, func(request json.RawMessage) bool {
			return strings.Contains(string(request), "/api/v1/events/stream")
		})
	}
	b, err = json.Marshal(map[string]any{"info": all.Info, "auth": all.Auth, "variable": all.Variable, "item": all.Item})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "collection.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkReport: every request was answered, lists with 200, and nothing with an error of the server.
func checkReport(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Run struct {
			Executions []struct {
				Item struct {
					Name    string
					Request struct {
						Method string
						URL    struct {
							Path     []string
							Variable []any
						}
					}
				}
				Response struct{ Code int }
			}
		}
	}
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Run.Executions) < 30 {
		t.Errorf("%d requests were made", len(report.Run.Executions))
	}
	for _, e := range report.Run.Executions {
		r, code := e.Item.Request, e.Response.Code
		list := r.Method == "GET" && len(r.URL.Variable) == 0
		if code == 0 || code >= 500 || code == 401 || list && code != 200 {
			t.Errorf("%s: %s %v answered %d", e.Item.Name, r.Method, r.URL.Path, code)
		}
	}
}

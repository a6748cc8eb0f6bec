package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// runner plays the rows with a program that reads a task and prints the result.
func runner(env []string, command ...string) func(t *testing.T, task object) object {
	return func(t *testing.T, task object) (result object) {
		t.Helper()
		in, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var out, failure bytes.Buffer
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &failure
		cmd.Env = append(os.Environ(), env...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", filepath.Base(command[0]), err, &out, &failure)
		}
		if err := json.Unmarshal(out.Bytes(), &result); err != nil {
			t.Fatalf("%s printed no result: %v\n%s%s", filepath.Base(command[0]), err, &out, &failure)
		}
		return result
	}
}

// python is the system's own, which the client is for.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() == nil {
			return name
		}
	}
	sheaftest.Unable(t, "the Python client needs Python 3.11 or newer")
	return ""
}

// in returns the path of a file of the clients.
func in(t *testing.T, path ...string) string {
	t.Helper()
	whole, err := filepath.Abs(filepath.Join(append([]string{root, "clients"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// pythonEnv finds the package in the repository, and leaves nothing behind there.
func pythonEnv(t *testing.T) []string {
	t.Helper()
	return []string{"PYTHONPATH=" + in(t, "python", "src"), "PYTHONDONTWRITEBYTECODE=1"}
}

func startPython(t *testing.T, _ *site) func(t *testing.T, task object) object {
	t.Helper()
	return runner(pythonEnv(t), python(t), in(t, "python", "tests", "conformance.py"))
}

// The Python client's own tests: what needs no server.
func TestPython_PassesItsTests(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python(t), "-W", "error", "-m", "unittest", "discover", "-s", in(t, "python", "tests"))
	cmd.Env = append(os.Environ(), pythonEnv(t)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

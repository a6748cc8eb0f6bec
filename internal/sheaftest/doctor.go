package sheaftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Finding is one finding of `sheaf doctor --json`.
type Finding struct {
	Check       string  `json:"check"`
	Workspace   *string `json:"workspace_id"`
	Text        string  `json:"text"`
	Information bool    `json:"information"`
}

// String returns the finding as one line.
func (f Finding) String() string {
	if f.Workspace == nil {
		return f.Check + ": " + f.Text
	}
	return f.Check + " in workspace " + *f.Workspace + ": " + f.Text
}

// Doctor runs `sheaf doctor --json` with further arguments, such as "--data", folder, and returns
// the violations. It returns an error if the check failed, or if the output and the exit code do
// not agree.
func Doctor(binary string, args ...string) (violations []Finding, err error) {
	return DoctorWith(nil, binary, args...)
}

// DoctorWith is Doctor with further environment variables, such as SHEAF_MEDIA_URL.
func DoctorWith(env []string, binary string, args ...string) (violations []Finding, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, append([]string{"doctor", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ended := cmd.Run()
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		return nil, ended
	}
	var all []Finding
	if err := json.Unmarshal(stdout.Bytes(), &all); err != nil {
		return nil, fmt.Errorf("doctor could not look: %v, %s", ended, stderr.Bytes())
	}
	for _, f := range all {
		if !f.Information {
			violations = append(violations, f)
		}
	}
	if (len(violations) > 0) != (ended != nil) {
		return violations, fmt.Errorf("doctor told of %d violations and ended with %v: %s", len(violations), ended, stderr.Bytes())
	}
	return violations, nil
}

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "dev"

type versionCommand struct{ cli.Output }

func (c *versionCommand) Run(p *program) error {
	commit := builtFrom()
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("version", version)
		o.Text("commit", commit)
		o.Text("go", runtime.Version())
	}), func() string { return fmt.Sprintf("sheaf %s (commit %s, %s)\n", version, commit, runtime.Version()) })
}

// builtFrom returns the commit that the program was built from.
func builtFrom() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

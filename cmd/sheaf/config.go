package main

import (
	"fmt"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

type configCommand struct {
	config.Serve
	cli.Output
}

// Run prints the settings that a server would use, and their problems.
func (c *configCommand) Run(p *program) error {
	settings, problems := c.Load(p.Env)
	all := settings.Describe()
	records := make([]sheaf.Record, len(all))
	for i, s := range all {
		records[i] = sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("name", s.Name)
			o.Text("value", s.Value)
			o.Text("source", s.Source)
		})
	}
	err := c.ShowAll(&p.Program, records, func() string {
		return cli.Table("SETTING\tVALUE\tFROM", func(row func(...any)) {
			for _, s := range all {
				row(s.Name, s.Value, s.Source)
			}
		})
	})
	if err != nil {
		return err
	}
	for _, u := range config.Unknown(p.Names()) {
		fmt.Fprintln(p.Stderr, "sheaf: warning: "+u.String())
	}
	return problems
}

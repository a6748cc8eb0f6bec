package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ClientVariables are read by the commands that talk to a server, which have no settings beside them.
var ClientVariables = []string{"SHEAF_SERVER", "SHEAF_API_KEY", "SHEAF_API_KEY_FILE"}

// UnknownVariable is a variable of the environment that looks like a setting and is none.
type UnknownVariable struct {
	Name  string
	Meant string // the setting that is written nearly so; empty: none is
}

// String says so in one line.
func (u UnknownVariable) String() string {
	if u.Meant == "" {
		return fmt.Sprintf("%s is no setting and is ignored", u.Name)
	}
	return fmt.Sprintf("%s is no setting and is ignored: did you mean %s?", u.Name, u.Meant)
}

// foreign are variables that others make: Kubernetes for a service that is called sheaf, and the tests
// and scripts of this repository.
var foreign = regexp.MustCompile(`^SHEAF_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?|(TEST|PROOF|GOTEST|LONG|BENCH)(_\w+)?)$`)

// Unknown returns which of the environment's variables begin with SHEAF_ and are read by nobody.
func Unknown(names []string) (out []UnknownVariable) {
	known := slices.Clone(ClientVariables)
	for _, s := range statements {
		known = append(known, s.Env())
		if s.secret {
			known = append(known, s.Env()+"_FILE")
		}
	}
	slices.Sort(known)
	for _, name := range names {
		if strings.HasPrefix(name, "SHEAF_") && !slices.Contains(known, name) && !foreign.MatchString(name) {
			out = append(out, UnknownVariable{Name: name, Meant: Nearest(name, known)})
		}
	}
	slices.SortFunc(out, func(a, b UnknownVariable) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Nearest returns the known word that two slips of the finger at most turn into the given one, or in a
// word of five letters or fewer one slip; empty when there is none.
func Nearest(name string, known []string) (meant string) {
	least := 3
	if len(name) <= 5 {
		least = 2
	}
	for _, k := range known {
		if d := distance(name, k); d < least {
			least, meant = d, k
		}
	}
	return meant
}

// distance is how many characters must be added, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

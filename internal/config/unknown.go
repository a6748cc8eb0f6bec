package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ClientVariables are the environment variables of the commands that talk to a server.
var ClientVariables = []string{"SHEAF_SERVER", "SHEAF_API_KEY", "SHEAF_API_KEY_FILE"}

// UnknownVariable is an environment variable that looks like a setting but is none.
type UnknownVariable struct {
	Name  string
	Meant string // the setting with a similar name; empty for none
}

// String returns a warning of one line.
func (u UnknownVariable) String() string {
	if u.Meant == "" {
		return fmt.Sprintf("%s is not a setting and is ignored", u.Name)
	}
	return fmt.Sprintf("%s is not a setting and is ignored: did you mean %s?", u.Name, u.Meant)
}

// foreign matches variables that others set: Kubernetes for a service named sheaf, and this
// repository's tests and scripts.
var foreign = regexp.MustCompile(`^SHEAF_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?|(TEST|PROOF|GOTEST|LONG|BENCH)(_\w+)?)$`)

// Unknown returns the variables that begin with SHEAF_ and are not used.
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

// Nearest returns the known word that differs from name by at most two characters, or by one if
// name has at most five; empty if there is none.
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

// distance returns the edit distance of a and b: the least number of characters to add, remove or
// replace.
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

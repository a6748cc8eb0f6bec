// Package archtest holds the rules of who may import whom, and who may read the clock or sleep, as
// a test. It reads the module's source and changes nothing.
package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// module is the module's path, the prefix of every import within it.
const module = "sheaf.dev"

// A file is what the rules look at. Path is relative to the module's root, with forward slashes.
type file struct {
	path    string
	imports []string
	clock   []string // uses of the real clock: "line 12: time.Now"
	sleeps  []int    // the lines of time.Sleep that no comment explains
	named   []name   // what it names of the module's own packages
}

// A name is one that a file uses of a package of the module, such as KindOf of internal/sheaf.
type name struct{ part, name string }

// check returns a line for each violation, saying which rule it breaks and why there is one. Test
// files are free, except that their package needs a rule and their pauses a reason.
func check(files []file) []string {
	var found []string
	for _, f := range files {
		r, ok := ruleOf(f.path)
		if !ok {
			found = append(found, fmt.Sprintf("%s: its package has no rule: give it one in internal/archtest/rules.go", f.path))
			continue
		}
		for _, line := range f.sleeps {
			found = append(found, fmt.Sprintf("%s:%d: time.Sleep without a reason: %s", f.path, line, insteadOfSleep))
		}
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, path := range f.imports {
			if complaint := checkImport(r, f.path, path); complaint != "" {
				found = append(found, fmt.Sprintf("%s: imports %s: %s", f.path, path, complaint))
			}
		}
		for _, n := range f.named {
			if allowed, bound := r.names[n.part]; bound && !slices.Contains(allowed, n.name) {
				found = append(found, fmt.Sprintf("%s: names %s of %s: of that it may name %s only: %s",
					f.path, n.name, n.part, strings.Join(allowed, ", "), r.why))
			}
		}
		if len(f.clock) > 0 && !exempt(clockExempt, f.path) {
			found = append(found, fmt.Sprintf("%s: reads the real clock (%s): take the time from the caller, cmd injects it",
				f.path, strings.Join(f.clock, ", ")))
		}
	}
	return found
}

// insteadOfSleep tells what to do about a pause: one that is long enough today fails on a busy
// machine, and one that is long enough for that wastes everybody's time.
const insteadOfSleep = "a test waits for what it wants to see, by a channel, by synctest.Wait or, where nothing gives a " +
	"signal, by sheaftest.Eventually; the program selects on a timer and the end of its context. Where time itself must " +
	"pass, say why in a comment on that line or just above it"

// checkImport returns what is wrong with an import in a file of the program, or nothing.
func checkImport(r rule, from, path string) string {
	if to, ok := inModule(path); ok {
		return checkInner(r, to)
	}
	switch {
	case matches(drivers, path) && !slices.Contains(driverUsers, r.part):
		return "only internal/store talks to a database: ask the store"
	case path == "net/http" && slices.Contains(withoutHTTP, r.part):
		return "only the edges know HTTP: return a kind, which front.Status turns into a status"
	case path == "unsafe" && r.part != unsafeUser:
		return "only " + unsafeUser + " is alone with the driver's memory"
	case (path == "math/rand" || path == "math/rand/v2") && !exempt(randExempt, from):
		return "ids and secrets come from crypto/rand, and other chance from cmd, so that a test can fix it"
	case r.stdOnly && !isStandard(path):
		return fmt.Sprintf("%s uses the standard library only: %s", r.part, r.why)
	}
	return ""
}

// checkInner judges an import of the module's own package at to.
func checkInner(r rule, to string) string {
	target, ok := ruleOf(to + "/")
	switch {
	case !ok:
		return "that package has no rule in internal/archtest/rules.go"
	case target.part == r.part:
		return ""
	case target.part == "cmd":
		return "nobody imports cmd: what others need belongs below it"
	case slices.Contains(forTests, target.part) && !slices.Contains(forTests, r.part):
		return target.part + " is for tests: only files named _test.go import it"
	case r.anything || slices.Contains(r.may, target.part):
		return ""
	case len(r.may) == 0:
		return fmt.Sprintf("%s imports no other part of the module: %s", r.part, r.why)
	default:
		return fmt.Sprintf("%s may import %s only: %s", r.part, strings.Join(r.may, ", "), r.why)
	}
}

// ruleOf returns the rule of the part that a file belongs to: the longest that fits.
func ruleOf(path string) (best rule, ok bool) {
	for _, r := range rules {
		if strings.HasPrefix(path, r.part+"/") && len(r.part) > len(best.part) {
			best, ok = r, true
		}
	}
	return best, ok
}

// inModule returns the folder of one of the module's own packages.
func inModule(path string) (folder string, ok bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// exempt reports whether an exemption covers the file.
func exempt(list []exemption, path string) bool {
	return slices.ContainsFunc(list, func(e exemption) bool { return covers(e.path, path) })
}

// matches reports whether an import is one of the modules, or a package of one.
func matches(prefixes []string, path string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return covers(p, path) })
}

// covers reports whether path is prefix itself or lies below it.
func covers(prefix, path string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// isStandard reports whether an import comes from the standard library, whose paths begin without a
// domain.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

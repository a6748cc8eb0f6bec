package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// parseOrigins reads origins in the form in which browsers send them, or "*" alone.
func parseOrigins(value string) ([]string, error) {
	var origins []string
	var problems []error
	for item := range strings.SplitSeq(value, ",") {
		switch item = strings.TrimSpace(item); item {
		case "":
		case "*":
			origins = append(origins, item)
		default:
			problems = append(problems, checkOrigin(item))
			origins = append(origins, item)
		}
	}
	if len(origins) > 1 && slices.Contains(origins, "*") {
		problems = append(problems, errors.New("has * beside other origins; give * alone, or only the origins"))
	}
	return origins, errors.Join(problems...)
}

// checkOrigin returns an error unless a browser could send the origin exactly so.
func checkOrigin(origin string) error {
	const remedy = "write scheme, host and port as browsers send them, for example https://app.example.com or http://localhost:5173"
	u, err := url.Parse(origin)
	switch {
	case err == nil && u.User != nil:
		return errors.New("has a user in it; " + remedy) // not quoted, because it may contain a password
	case err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin:
		return fmt.Errorf("%q is not an origin; %s", origin, remedy)
	case origin != strings.ToLower(origin) || strings.ContainsFunc(origin, func(r rune) bool { return r > unicode.MaxASCII }):
		return fmt.Errorf("%q has capital or foreign letters; browsers send lower case, and names such as xn--bcher-kva.example; %s", origin, remedy)
	case strings.Contains(u.Host, "*"):
		return fmt.Errorf("%q has a * in it; list every origin, or give * alone", origin)
	case u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" || strings.HasSuffix(u.Host, ":"):
		return fmt.Errorf("%q has the usual port, which browsers leave out; write %s://%s", origin, u.Scheme, u.Hostname())
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%q has no port from 1 to 65535; %s", origin, remedy)
		}
	}
	return nil
}

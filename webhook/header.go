package webhook

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// parseService reads "t=<seconds>,v1=<hex>[,v1=<hex>…]". The time is returned as it was written,
// for that is what is signed. Items with other names are left for schemes to come, and a v1 that is
// not hexadecimal matches nothing.
func parseService(value string) (stamp string, signatures [][]byte, err error) {
	found := false
	for item := range strings.SplitSeq(value, ",") {
		name, v, _ := strings.Cut(item, "=")
		switch name {
		case "t":
			if stamp != "" || !isDecimal(v) {
				return "", nil, fmt.Errorf("%w: t must be there once, in seconds", ErrMalformed)
			}
			stamp = v
		case "v1":
			found = true
			if sig, err := hex.DecodeString(v); err == nil {
				signatures = append(signatures, sig)
			}
		}
	}
	if stamp == "" || !found {
		return "", nil, fmt.Errorf("%w: it must have the form t=<seconds>,v1=<hex>", ErrMalformed)
	}
	return stamp, signatures, nil
}

// parseStandard reads "v1,<base64>[ v1,<base64>…]", and skips other versions.
func parseStandard(value string) (signatures [][]byte, err error) {
	found := false
	for item := range strings.FieldsSeq(value) {
		encoded, ok := strings.CutPrefix(item, "v1,")
		if !ok {
			continue
		}
		found = true
		if sig, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			signatures = append(signatures, sig)
		}
	}
	if !found {
		return nil, fmt.Errorf("%w: webhook-signature must have the form v1,<base64>", ErrMalformed)
	}
	return signatures, nil
}

func isDecimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

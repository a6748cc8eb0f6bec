package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"filippo.io/age"
)

// parseBackupTo reads the address of a bucket for backups, or an empty text.
func parseBackupTo(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(value, "@") {
		return "", errors.New("is not the address of a bucket; write s3://BUCKET or s3://BUCKET/PREFIX, and give the keys in BACKUP_AWS_ACCESS_KEY_ID and BACKUP_AWS_SECRET_ACCESS_KEY")
	}
	return value, nil
}

// parseBackupKeep reads how many backups stay, and for how long.
func parseBackupKeep(value string) (keep BackupKeep, err error) {
	const remedy = "write for example count=7,age=30d"
	var problems []error
	known := map[string]bool{}
	for item := range strings.SplitSeq(value, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch {
		case known[name] || name != "count" && name != "age":
			problems = append(problems, fmt.Errorf("%q is no count and no age, or one for the second time; %s", item, remedy))
		case name == "count":
			if keep.Count, err = strconv.Atoi(text); err != nil || keep.Count < 1 {
				problems = append(problems, fmt.Errorf("%q is no whole number from 1; %s", item, remedy))
			}
		default:
			if keep.Age, err = durationBetween(0, 0)(text); err != nil {
				problems = append(problems, fmt.Errorf("%q: %w", item, err))
			}
		}
		known[name] = true
	}
	if len(problems) == 0 && !known["count"] {
		keep.Count = 1
	}
	return keep, errors.Join(problems...)
}

// parseRecipients reads public keys of age.
func parseRecipients(value string) (keys []string, err error) {
	var problems []error
	for item := range strings.SplitSeq(value, ",") {
		switch item = strings.TrimSpace(item); {
		case item == "":
		case strings.HasPrefix(strings.ToUpper(item), "AGE-SECRET-KEY-"):
			problems = append(problems, errors.New("is a private key, which the server must not have; give the public key, which age-keygen -y prints, and make a new pair if this one was seen by others"))
		default:
			if _, err := age.ParseX25519Recipient(item); err != nil {
				problems = append(problems, fmt.Errorf("%q is not a public key of age; write age1..., as age-keygen prints it", item))
			}
			keys = append(keys, item)
		}
	}
	return keys, errors.Join(problems...)
}

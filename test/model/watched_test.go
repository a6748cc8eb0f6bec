//go:build race

package model

// Watched for races, a sequence takes three times the CPU, and has nothing to show: only the engines run beside each
// other. ./scripts/test runs all of them without.
const quick = 50

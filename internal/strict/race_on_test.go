//go:build race

package strict_test

const raceEnabled = true

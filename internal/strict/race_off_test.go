//go:build !race

package strict_test

const raceEnabled = false

//go:build !race

package model

// quick is how many sequences run where nothing else is asked for.
const quick = 500

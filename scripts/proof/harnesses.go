package main

// harnesses lists what `make proof` runs, in the order of the table.
var harnesses = []harness{}

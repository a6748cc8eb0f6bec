package main

// harnesses lists what `make proof` runs, in the order of the table.
var harnesses = []harness{
	{pkg: "./internal/httpapi", run: "TestDamage", rows: 1},
	{pkg: "./test/zoo", run: "TestZoo_TheProgramDelivers", rows: 1},
	{pkg: "./test/address", run: "TestAddresses_NoneIsReached", rows: 1},
}

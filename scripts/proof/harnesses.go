package main

// harnesses lists what `make proof` runs, in this order.
var harnesses = []harness{
	{pkg: "./test/zoo", run: "TestZoo_TheProgramDelivers", rows: 1, beside: true},     // it waits for deadlines
	{pkg: "./internal/render", run: "TestPage_NoTextCostsMoreThanItsBudget", rows: 1}, // before what loads the machine
	{pkg: "./test/crash", run: "TestKill", rows: 11},
	{pkg: "./test/overload", run: "TestSoak_NothingGrows", rows: 1, beside: true}, // beside two that no clock judges
	{pkg: "./test/model", run: "TestModel", rows: 1},
	{pkg: "./internal/httpapi", run: "TestTree_ManyClients", rows: 2},
	{pkg: "./internal/httpapi", run: "TestProposals_ManyClients", rows: 2},
	{pkg: "./internal/httpapi", run: "TestReleases_ManyClients", rows: 2},
	{pkg: "./test/race", run: "TestRaces", rows: 3},
	{pkg: "./test/linear", run: "TestLinear", rows: 2},
	{pkg: "./test/disk", run: "TestPowerCut", rows: 2},
	{pkg: "./test/disk", run: "TestFault", rows: 1},
	{pkg: "./test/disk", run: "TestFull", rows: 1},
	{pkg: "./internal/httpapi", run: "TestDamage", rows: 1},
	{pkg: "./test/foreign", run: "TestForeign_ProgramsAtTheFile", rows: 1},
	{pkg: "./test/address", run: "TestAddresses_NoneIsReached", rows: 1},
	{pkg: "./test/backup", run: "TestBackup_HoldsWhatWasAcknowledged", rows: 1},
	{pkg: "./test/backup", run: "TestBackup_DamageIsRefused", rows: 1},
	{pkg: "./test/migrate", run: "TestMigrate", rows: 2},
	{pkg: "./test/overload", run: "TestOverload_IsRefusedAtOnceAndLeavesNothingBehind", rows: 1},
	{pkg: "./test/overload", run: "TestCascade_OthersWriteMeanwhile", rows: 2},
	{pkg: "./test/overload", run: "TestPasswords_OneTenantLeavesRoomForOthers", rows: 1},
	{pkg: "./test/overload", run: "TestRendering_OneTenantLeavesRoomForOthers", rows: 1},
	{pkg: "./test/overload", run: "TestDrain_SIGTERMUnderLoadFailsNoRequest", rows: 1},
	{pkg: "./test/overload", run: "TestBodies_OfHangingEndpointsKeepWithinTheMemory", rows: 1},
	{pkg: "./test/nodes", run: "TestUpgrade_NodesAreReplacedOneByOne", rows: 1},
	{pkg: "./test/nodes", run: "TestCluster_FaultsUnderLoad", rows: 8, tags: "cluster", install: "./scripts/cluster-packages"},
	{pkg: "./test/access", run: "TestAccess_NoCanaryIsSeen", rows: 1},
	{pkg: "./test/fuzz", run: "TestFuzz_FindsNothing", rows: 1},
	{pkg: "./test/planted", run: "TestPlanted_AreCaught", rows: 1},
}

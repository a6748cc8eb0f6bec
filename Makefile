VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: test race clients agents nodes cluster cluster-faults texts proof proof-long fuzz bench bench-quick build package lint clean

test:
	./scripts/test

# Every package under the race detector, and every test of the API on both engines: twice the time of ./scripts/test or more.
race:
	SHEAF_TEST_ENGINES=all ./scripts/test ./...

# What drives real clients: the recipes and the nodes in an n8n, the generators of clients, the official client of MCP, its
# inspector and mcp-remote, with keys and with OAuth. The first time npm installs n8n, 2.3 GB,
# into the user's cache folder: ten minutes or so.
clients:
	CGO_ENABLED=0 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=60m -tags clients -run TestN8N -v ./test/recipes
	CGO_ENABLED=0 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=60m -tags clients -v ./test/generators
	CGO_ENABLED=0 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=60m -tags clients -v ./test/agents
	CGO_ENABLED=0 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=60m -tags clients -run TestClients -v ./test/clients
	CGO_ENABLED=0 SHEAF_LONG=1 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=60m -run TestTus -v ./test/recipes

# Twenty tasks of agents, counted in calls and bytes: some seconds. SHEAF_AGENTS_PROGRAM=<program> counts another version.
agents:
	CGO_ENABLED=0 go test -count=1 -run TestTasks -v ./test/agents

# The long form of the tests on several nodes, one after the other, with their figures: about ten minutes.
nodes:
	cd test/nodes && SHEAF_LONG=1 SHEAF_TEST_REQUIRE=1 go test -count=1 -timeout=40m -parallel=1

# A whole cluster on loopback, with the files that docs/deploy.md shows: PostgreSQL under Patroni and etcd, pgbouncer, Redis
# with Sentinel, three nodes behind haproxy. It prints the addresses, and ends with Ctrl-C. As root.
cluster: build
	./scripts/cluster-packages
	go run ./scripts/cluster -binary ./sheaf

# Whether acknowledged writes and events survive when the parts of such a cluster are killed, frozen and cut off: some minutes.
cluster-faults:
	./scripts/cluster-packages
	CGO_ENABLED=0 SHEAF_PROOF=proof SHEAF_TEST_REQUIRE=1 go test -count=1 -vet=off -timeout=0 -tags cluster -run TestCluster -v ./test/nodes

# The texts that are hardest to render, and how long a processor works for each: no second.
texts:
	CGO_ENABLED=0 SHEAF_PROOF=proof go test -count=1 -run TestPage_NoTextCostsMoreThanItsBudget -v ./internal/render

# Every harness in its long form, one table: about an hour and a half on 2 cores, 25 minutes of it planted bugs. proof-long has no limit.
proof:
	go run ./scripts/proof

proof-long:
	go run ./scripts/proof -long

# Sheaf beside the bare limit and a peer, in one run with nothing else on the machine: about 20 minutes, and under 3.
bench:
	cd bench && go run . -keep

bench-quick:
	cd bench && go run . -quick

# Every fuzz target on a hundred thousand inputs.
fuzz:
	SHEAF_PROOF=proof go test -count=1 -timeout=0 -v -run TestFuzz_FindsNothing ./test/fuzz

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o sheaf ./cmd/sheaf

# The Debian package, in dist.
package:
	./scripts/package

lint:
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go run $(STATICCHECK) ./...
	./scripts/lint-security

clean:
	rm -rf sheaf dist
